// MappedFile: a file as read-only memory, without reading it.
//
// The kernel brings pages in as they are touched and may drop them again, so a model's file costs
// no memory of its own beyond what is being looked at. A file that is shortened while it is mapped
// ends the program with SIGBUS at the next touch of what is gone, as in every program that maps
// files. Whoever goes through all of a large file calls read() instead, which has errors.
//
// Owns the mapping and the open file. Thread contract: const after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tl/expected.hpp>

#include "forge/formats/file_error.h"

namespace forge::formats {

/// Why a part of a file cannot be read.
struct ReadFailure {
  std::uint64_t offset = 0;  ///< of the first byte that was not read
  int code = 0;              ///< errno; 0: the file ends there
};

class MappedFile {
 public:
  /// Errors: the file cannot be opened or mapped, or is not a regular file. An empty file is no
  /// error here.
  static tl::expected<MappedFile, FileError> open(const std::string& path);

  /// A file that does not exist yet: it has the name `path` and no bytes.
  static MappedFile unwritten(std::string path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  const std::string& path() const { return path_; }

  /// The whole file, page-aligned, valid as long as the MappedFile.
  std::span<const std::byte> bytes() const { return {data_, size_}; }

  /// Copies `part` to `to`, by reading the file anew. Requires: `part` lies within bytes() and is
  /// as long as `to`.
  tl::expected<void, ReadFailure> read(std::span<const std::byte> part,
                                       std::span<std::byte> to) const;

  /// "model.gguf: at byte 700: ends here, and had 1000 bytes when it was opened"
  FileError error_of(const ReadFailure& failure) const;

  /// `part` will be read from front to back soon. Requires: it lies within bytes().
  void will_read(std::span<const std::byte> part) const;

  /// `part` will not be read again soon: whole pages of it leave this process's memory.
  void done_with(std::span<const std::byte> part) const;

 private:
  MappedFile() = default;

  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  int descriptor_ = -1;
};

}  // namespace forge::formats
