// TensorFile: the tensors of a path in either format, whether or not Forge knows the model.
//
//   path                                   is read as
//   a directory                            model.safetensors or the files of
//                                          model.safetensors.index.json
//   a file NAME.safetensors                that file
//   a file NAME.gguf                       that file
//
// Owns the mapped files. Thread contract: const after construction.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>

#include "forge/checkpoint/tensor_names.h"
#include "forge/formats/file_error.h"
#include "forge/formats/gguf.h"
#include "forge/formats/safetensors.h"

namespace forge::checkpoint {

class TensorFile {
 public:
  /// Errors: `path` is none of these; those of the formats.
  static tl::expected<TensorFile, formats::FileError> open(const std::string& path);

  ModelFormat format() const {
    return gguf() == nullptr ? ModelFormat::safetensors : ModelFormat::gguf;
  }

  /// The file if it is of that format, otherwise null.
  const formats::Gguf* gguf() const { return std::get_if<formats::Gguf>(&file_); }
  const formats::SafeTensors* safetensors() const {
    return std::get_if<formats::SafeTensors>(&file_);
  }

  /// The tensors in the order of the format: of names (SafeTensors), of the file (GGUF).
  std::span<const formats::Tensor> tensors() const;

  /// The tensor of that name, or null.
  const formats::Tensor* find(std::string_view name) const;

  /// The file in which `tensor` lies. Requires: it is one of tensors().
  const formats::MappedFile& file_of(const formats::Tensor& tensor) const;

  /// The first of the files.
  const formats::MappedFile& first_file() const;

 private:
  using File = std::variant<formats::SafeTensors, formats::Gguf>;
  explicit TensorFile(File file) : file_(std::move(file)) {}

  File file_;
};

/// The directory of a model: `path`, or that of the file. config.json and tokenizer.json lie there.
std::string directory_of(const std::string& path);

}  // namespace forge::checkpoint
