// SafeTensors: the format of Hugging Face checkpoints.
//
//   | N, 8 bytes | header, N bytes of JSON | data                                      |
//
//   header   { "__metadata__": {"format": "pt"},
//              "model.norm.weight": {"dtype": "F32", "shape": [64], "data_offsets": [0, 256]}, ...
//              }
//
// data_offsets count from the start of the data. A large checkpoint is several such files and a
// model.safetensors.index.json that says which tensor is in which.
// Source: https://github.com/huggingface/safetensors, README "Format".
//
// Files are not trusted: the header is at most kHeaderBytesMax and starts with its bracket; no name
// or key is there twice; a tensor has dtype, shape and data_offsets, and nothing else; the tensors
// cover the data without overlap or gap, and each is exactly as long as dtype and shape say. A
// tensor of no elements has no bytes. What is allocated is in proportion to the bytes of the header
// that are there, never to a number that it states.
//
// dtypes that are read: F32, F16, BF16, I8, U8, I32, I64, F8_E4M3.
//
// Owns the mapped files. Thread contract: const after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "forge/formats/mapped_file.h"
#include "forge/formats/tensor.h"

namespace forge::formats {

class SafeTensors {
 public:
  /// The limit of the reference implementation.
  static constexpr std::uint64_t kHeaderBytesMax = 100'000'000;
  /// The most dimensions of a tensor, as in NumPy.
  static constexpr std::uint64_t kRankMax = 64;
  /// The deepest nesting of objects and arrays in a header or an index.
  static constexpr int kDepthMax = 16;

  /// Opens one file. Errors: those of MappedFile, and whatever in the file is not as said above;
  /// another dtype is an error that names it and lists those that are read.
  static tl::expected<SafeTensors, FileError> open(const std::string& path);

  /// Opens a checkpoint: `directory`/model.safetensors, or the files that
  /// `directory`/model.safetensors.index.json names. Errors: those of open(); neither exists; the
  /// index names a file outside the directory; a tensor is not in the file that the index says, or
  /// in two. A tensor that the index leaves out is no error.
  static tl::expected<SafeTensors, FileError> open_directory(const std::string& directory);

  /// The tensors in the order of their names.
  std::span<const Tensor> tensors() const { return tensors_; }

  /// The tensor of that name, or null. O(log tensors).
  const Tensor* find(std::string_view name) const;

  /// `__metadata__` of the first file that has one.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// The files, one or more.
  std::span<const MappedFile> files() const { return files_; }

  /// The file in which `tensor` lies. Requires: it is one of tensors().
  const MappedFile& file_of(const Tensor& tensor) const;

 private:
  SafeTensors() = default;

  tl::expected<void, FileError> add_file(const std::string& path);
  tl::expected<void, FileError> sort_by_name();

  std::vector<MappedFile> files_;
  std::vector<Tensor> tensors_;
  std::vector<std::uint32_t> file_indices_;  // of each tensor, into files_
  std::map<std::string, std::string> metadata_;
};

/// The tensors that the bytes of one file describe, in the order of their names: what open() does
/// once the file is mapped. `path` is for errors; `metadata` becomes the file's; if there is an
/// error, its value is unspecified. For tests and fuzzers.
tl::expected<std::vector<Tensor>, FileError> parse_safetensors(
    std::span<const std::byte> file, const std::string& path,
    std::map<std::string, std::string>& metadata);

/// The names of tensors and of their files that an index gives. Errors: it is longer than
/// kHeaderBytesMax, not JSON, or has no "weight_map" of texts, one or more; a name is there twice;
/// a file is not of the index's directory. For tests and fuzzers.
tl::expected<std::map<std::string, std::string>, FileError> parse_safetensors_index(
    std::span<const std::byte> file, const std::string& path);

}  // namespace forge::formats
