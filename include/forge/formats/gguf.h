// Gguf: the single-file format of ggml and llama.cpp, versions 2 and 3.
//
//   | "GGUF" | version u32 | tensor count u64 | metadata count u64 |
//   | metadata: key, type u32, value | ...
//   | tensors: name, rank u32, dimensions u64 each, type u32, offset u64 | ...
//   | padding to general.alignment (32 unless given) | data |
//
// All numbers are little-endian; a string is a u64 length and its bytes. Dimensions are fastest
// first in the file; Tensor::shape has them slowest first. Offsets count from the start of the
// data. Source: https://github.com/ggml-org/ggml, docs/gguf.md.
//
// Files are not trusted: every count, length, offset and product of dimensions is held against what
// is left of the file before anything is allocated by it; keys and names are unique and not empty;
// arrays hold no arrays; dimensions are positive; tensors start at multiples of the alignment, and
// neither overlap nor leave the file. Gaps between tensors and bytes after the last are no error.
//
// Memory: a copy of keys and tensor names, and 16 bytes for each text in an array, which has 8 or
// more in the file; beside these some 250 bytes for each key and tensor, of which there are at most
// kKeysMax and kTensorsMax. Together never more than twice the file and 32 MiB.
//
// Owns the mapped file, from which metadata and tensors borrow. Thread contract: const after
// construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "forge/formats/gguf_value.h"
#include "forge/formats/mapped_file.h"
#include "forge/formats/tensor.h"

namespace forge::formats {

/// What the bytes of a file describe. Borrows from them.
struct GgufContents {
  std::uint32_t version = 0;
  GgufMetadata metadata;
  std::vector<Tensor> tensors;                        ///< in the order of the file
  std::map<std::string_view, std::uint32_t> by_name;  ///< their positions in tensors
};

/// What open() does once the file is mapped; `path` is for its errors. For tests and fuzzers.
tl::expected<GgufContents, FileError> parse_gguf(std::span<const std::byte> file,
                                                 const std::string& path);

class Gguf {
 public:
  static constexpr std::uint64_t kKeysMax = 65536;
  static constexpr std::uint64_t kTensorsMax = 65536;
  static constexpr std::uint64_t kNameBytesMax = 65535;  ///< the longest key or tensor name
  static constexpr std::uint32_t kRankMax = 4;
  static constexpr std::uint64_t kAlignmentMin = 8;  ///< alignments are powers of two
  static constexpr std::uint64_t kAlignmentMax = 65536;

  /// Errors: those of MappedFile, and whatever in the file is not as said above; a tensor type that
  /// is not read is an error that names it and lists those that are.
  static tl::expected<Gguf, FileError> open(const std::string& path);

  /// The file that these would make, for code that reads what is about to be written. Borrows what
  /// they borrow.
  static Gguf unwritten(std::string path, GgufMetadata metadata, std::vector<Tensor> tensors);

  std::uint32_t version() const { return contents_.version; }
  const GgufMetadata& metadata() const { return contents_.metadata; }

  /// The value of `key` as the file has it, or null.
  const GgufValue* value(std::string_view key) const;

  /// The value of `key`, whatever width the file gives it: integer() reads any integer that fits,
  /// number() any integer or float. Errors: missing, or of another kind; the message names key,
  /// value and what is accepted.
  tl::expected<std::int64_t, FileError> integer(std::string_view key) const;
  tl::expected<double, FileError> number(std::string_view key) const;
  tl::expected<bool, FileError> boolean(std::string_view key) const;
  tl::expected<std::string_view, FileError> text(std::string_view key) const;

  /// The same for an array: all elements of integers() fit std::int64_t. The views are valid as
  /// long as the Gguf, wherever it is moved.
  tl::expected<GgufNumbers, FileError> integers(std::string_view key) const;
  tl::expected<GgufNumbers, FileError> numbers(std::string_view key) const;
  tl::expected<std::span<const std::string_view>, FileError> texts(std::string_view key) const;

  /// The tensors in the order of the file.
  std::span<const Tensor> tensors() const { return contents_.tensors; }

  /// The tensor of that name, or null. O(log tensors).
  const Tensor* find(std::string_view name) const;

  const MappedFile& file() const { return file_; }

 private:
  Gguf(MappedFile file, GgufContents contents)
      : file_(std::move(file)), contents_(std::move(contents)) {}

  tl::unexpected<FileError> wrong(std::string_view key, std::string_view accepted) const;

  MappedFile file_;
  GgufContents contents_;
};

}  // namespace forge::formats
