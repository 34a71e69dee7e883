#include "transformer/checkpoint_edit.h"

#include <span>

#include "forge/core/check.h"
#include "forge/formats/safetensors.h"
#include "forge/formats/tensor_writer.h"
#include "forge/transformer/checkpoint.h"

namespace forge::testing {

using formats::testing::ScratchFolder;

std::string golden(const std::string& name) { return FORGE_GOLDEN_MODELS "/" + name; }

nlohmann::json json_file(const std::string& path) {
  return nlohmann::json::parse(formats::testing::file_bytes(path));
}

EditableTensor floats(std::vector<std::uint64_t> shape, const std::vector<float>& values) {
  return numbers(formats::ElementType::f32, std::move(shape), values);
}

EditableCheckpoint EditableCheckpoint::of(const std::string& name) {
  EditableCheckpoint out;
  out.config = json_file(golden(name) + "/config.json");
  const auto file = formats::SafeTensors::open_directory(golden(name)).value();
  for (const formats::Tensor& tensor : file.tensors()) {
    const auto* const bytes = reinterpret_cast<const char*>(tensor.bytes.data());
    out.tensors[tensor.name] = {tensor.type, tensor.shape, std::string(bytes, tensor.bytes.size())};
  }
  return out;
}

void EditableCheckpoint::write(const ScratchFolder& folder) const {
  folder.write("config.json", config.dump());
  std::vector<formats::TensorSpec> specs;
  for (const auto& [name, tensor] : tensors) specs.push_back({name, tensor.type, tensor.shape});
  auto writer =
      formats::TensorWriter::safetensors(folder.file("model.safetensors"), specs, {}).value();
  for (const auto& [name, tensor] : tensors) {
    FORGE_CHECK(writer.write(std::as_bytes(std::span(tensor.bytes))).has_value(), name);
  }
  FORGE_CHECK(writer.finish().has_value());
}

std::string EditableCheckpoint::error() const {
  const ScratchFolder folder;
  write(folder);
  const auto checkpoint = Checkpoint::open(folder.path());
  return checkpoint ? "" : to_string(checkpoint.error()).substr(folder.path().size() + 1);
}

}  // namespace forge::testing
