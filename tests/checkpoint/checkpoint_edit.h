// EditableCheckpoint, EditableGguf, EditableAdapter: a small checkpoint of tests/golden/models, or
// an adapter of tests/golden/lora, to be changed and written elsewhere.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "forge/formats/gguf.h"
#include "forge/formats/tensor.h"
#include "formats/scratch_folder.h"

namespace forge::testing {

/// The folder of a golden model.
std::string golden(const std::string& name);

nlohmann::json json_file(const std::string& path);

struct EditableTensor {
  formats::ElementType type = formats::ElementType::f32;
  std::vector<std::uint64_t> shape;
  std::string bytes;
};

/// A tensor of floats.
EditableTensor floats(std::vector<std::uint64_t> shape, const std::vector<float>& values);

/// A tensor of any type, of numbers of type T.
template <class T>
EditableTensor numbers(formats::ElementType type, std::vector<std::uint64_t> shape,
                       const std::vector<T>& values) {
  return {type, std::move(shape),
          std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T))};
}

struct EditableCheckpoint {
  nlohmann::json config;
  std::map<std::string, EditableTensor> tensors;

  /// A golden model in one file.
  static EditableCheckpoint of(const std::string& name);

  /// Writes config.json and model.safetensors.
  void write(const formats::testing::ScratchFolder& folder) const;

  /// The error that opening it gives, without the folder; "" where it opens.
  std::string error() const;
};

struct EditableGguf {
  /// The model.gguf of a golden model.
  explicit EditableGguf(const std::string& name);

  /// Writes `folder`/model.gguf, whose path it returns.
  std::string write(const formats::testing::ScratchFolder& folder) const;

  /// As that of an EditableCheckpoint, without "model.gguf: " either.
  std::string error() const;

  formats::Gguf original;  ///< has the texts of the metadata
  formats::GgufMetadata metadata;
  std::map<std::string, EditableTensor> tensors;
};

struct EditableAdapter {
  /// An adapter of tests/golden/lora.
  explicit EditableAdapter(const std::string& name);

  /// Writes adapter_config.json and adapter_model.safetensors.
  void write(const formats::testing::ScratchFolder& folder) const;

  /// The error that merging it into a golden model gives, without the folder; "" where it merges.
  std::string error(const std::string& base) const;

  nlohmann::json config;
  std::map<std::string, EditableTensor> tensors;
};

/// The folder of an adapter of tests/golden/lora, or another file there.
std::string golden_lora(const std::string& name);

}  // namespace forge::testing
