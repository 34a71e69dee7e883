#include "checkpoint/checkpoint_edit.h"

#include <span>

#include "forge/checkpoint/checkpoint.h"
#include "forge/core/check.h"
#include "forge/formats/safetensors.h"
#include "forge/formats/tensor_writer.h"

namespace forge::testing {
namespace {

using formats::testing::ScratchFolder;
using Tensors = std::map<std::string, EditableTensor>;

Tensors copy_of(std::span<const formats::Tensor> tensors) {
  Tensors out;
  for (const formats::Tensor& tensor : tensors) {
    const auto* const bytes = reinterpret_cast<const char*>(tensor.bytes.data());
    out[tensor.name] = {tensor.type, tensor.shape, std::string(bytes, tensor.bytes.size())};
  }
  return out;
}

std::vector<formats::TensorSpec> specs_of(const Tensors& tensors) {
  std::vector<formats::TensorSpec> specs;
  for (const auto& [name, tensor] : tensors) specs.push_back({name, tensor.type, tensor.shape});
  return specs;
}

void write_all(formats::TensorWriter writer, const Tensors& tensors) {
  for (const auto& [name, tensor] : tensors) {
    FORGE_CHECK(writer.write(std::as_bytes(std::span(tensor.bytes))).has_value(), name);
  }
  FORGE_CHECK(writer.finish().has_value());
}

}  // namespace

std::string golden(const std::string& name) { return FORGE_GOLDEN_MODELS "/" + name; }

nlohmann::json json_file(const std::string& path) {
  return nlohmann::json::parse(formats::testing::file_bytes(path));
}

EditableTensor floats(std::vector<std::uint64_t> shape, const std::vector<float>& values) {
  return numbers(formats::ElementType::f32, std::move(shape), values);
}

EditableCheckpoint EditableCheckpoint::of(const std::string& name) {
  return {json_file(golden(name) + "/config.json"),
          copy_of(formats::SafeTensors::open_directory(golden(name)).value().tensors())};
}

void EditableCheckpoint::write(const ScratchFolder& folder) const {
  folder.write("config.json", config.dump());
  const std::string path = folder.file("model.safetensors");
  write_all(formats::TensorWriter::safetensors(path, specs_of(tensors), {}).value(), tensors);
}

std::string EditableCheckpoint::error() const {
  const ScratchFolder folder;
  write(folder);
  const auto checkpoint = checkpoint::Checkpoint::open(folder.path());
  return checkpoint ? "" : to_string(checkpoint.error()).substr(folder.path().size() + 1);
}

EditableGguf::EditableGguf(const std::string& name)
    : original(formats::Gguf::open(golden(name) + "/model.gguf").value()),
      metadata(original.metadata()),
      tensors(copy_of(original.tensors())) {}

std::string EditableGguf::write(const ScratchFolder& folder) const {
  const std::string path = folder.file("model.gguf");
  write_all(formats::TensorWriter::gguf(path, specs_of(tensors), metadata).value(), tensors);
  return path;
}

std::string EditableGguf::error() const {
  const ScratchFolder folder;
  const std::string path = write(folder);
  const auto checkpoint = checkpoint::Checkpoint::open(path);
  return checkpoint ? "" : to_string(checkpoint.error()).substr(path.size() + 2);
}

std::string golden_lora(const std::string& name) { return FORGE_GOLDEN_LORA "/" + name; }

EditableAdapter::EditableAdapter(const std::string& name)
    : config(json_file(golden_lora(name) + "/adapter_config.json")),
      tensors(copy_of(formats::SafeTensors::open(golden_lora(name) + "/adapter_model.safetensors")
                          .value()
                          .tensors())) {}

void EditableAdapter::write(const ScratchFolder& folder) const {
  folder.write("adapter_config.json", config.dump());
  const std::string path = folder.file("adapter_model.safetensors");
  write_all(formats::TensorWriter::safetensors(path, specs_of(tensors), {}).value(), tensors);
}

std::string EditableAdapter::error(const std::string& base) const {
  const ScratchFolder folder;
  write(folder);
  auto checkpoint = checkpoint::Checkpoint::open(base).value();
  linear::ThreadPool threads(1);
  const auto done = checkpoint.merge(std::vector{checkpoint::LoraSource{folder.path()}}, threads);
  if (done) return "";
  const std::string text = to_string(done.error());
  return text.starts_with(folder.path()) ? text.substr(folder.path().size() + 1) : text;
}

}  // namespace forge::testing
