// EditableCheckpoint, EditableGguf: a small checkpoint of tests/golden/models, to be changed and
// written elsewhere.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <span>
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

using EditableTensors = std::map<std::string, EditableTensor>;  ///< by name

EditableTensors copy_of(std::span<const formats::Tensor> tensors);

void write_safetensors(const std::string& path, const EditableTensors& tensors);
void write_gguf(const std::string& path, const formats::GgufMetadata& metadata,
                const EditableTensors& tensors);

struct EditableCheckpoint {
  nlohmann::json config;
  EditableTensors tensors;

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
  EditableTensors tensors;
};

}  // namespace forge::testing
