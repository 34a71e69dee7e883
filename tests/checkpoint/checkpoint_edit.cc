#include "checkpoint/checkpoint_edit.h"

#include <span>

#include "forge/checkpoint/checkpoint.h"
#include "forge/core/check.h"
#include "forge/formats/safetensors.h"
#include "forge/formats/tensor_writer.h"

namespace forge::testing {
namespace {

using formats::testing::ScratchFolder;

std::vector<formats::TensorSpec> specs_of(const EditableTensors& tensors) {
  std::vector<formats::TensorSpec> specs;
  for (const auto& [name, tensor] : tensors) specs.push_back({name, tensor.type, tensor.shape});
  return specs;
}

void write_all(formats::TensorWriter writer, const EditableTensors& tensors) {
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

EditableTensors copy_of(std::span<const formats::Tensor> tensors) {
  EditableTensors out;
  for (const formats::Tensor& tensor : tensors) {
    const auto* const bytes = reinterpret_cast<const char*>(tensor.bytes.data());
    out[tensor.name] = {tensor.type, tensor.shape, std::string(bytes, tensor.bytes.size())};
  }
  return out;
}

void write_safetensors(const std::string& path, const EditableTensors& tensors) {
  write_all(formats::TensorWriter::safetensors(path, specs_of(tensors), {}).value(), tensors);
}

void write_gguf(const std::string& path, const formats::GgufMetadata& metadata,
                const EditableTensors& tensors) {
  write_all(formats::TensorWriter::gguf(path, specs_of(tensors), metadata).value(), tensors);
}

EditableCheckpoint EditableCheckpoint::of(const std::string& name) {
  return {json_file(golden(name) + "/config.json"),
          copy_of(formats::SafeTensors::open_directory(golden(name)).value().tensors())};
}

void EditableCheckpoint::write(const ScratchFolder& folder) const {
  folder.write("config.json", config.dump());
  write_safetensors(folder.file("model.safetensors"), tensors);
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
  write_gguf(path, metadata, tensors);
  return path;
}

std::string EditableGguf::error() const {
  const ScratchFolder folder;
  const std::string path = write(folder);
  const auto checkpoint = checkpoint::Checkpoint::open(path);
  return checkpoint ? "" : to_string(checkpoint.error()).substr(path.size() + 2);
}

}  // namespace forge::testing
