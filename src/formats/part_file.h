// PartFile: a file that has its name only once it is whole.
//
// Until finish() it is PATH.part; if the PartFile is destroyed before that, the file is removed.
// Small pieces are gathered before they are written. After an error every later call has the same
// error.
//
// Owns the open file. Thread contract: one thread at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/formats/file_error.h"

namespace forge::formats::detail {

class PartFile {
 public:
  explicit PartFile(std::string path);
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  ~PartFile();

  /// Requires: called first, once. Errors: PATH.part cannot be created.
  tl::expected<void, FileError> create();

  tl::expected<void, FileError> write(std::span<const std::byte> bytes);

  /// Brings all of it to the disk and then gives it its name, in place of a file that has it
  /// already.
  tl::expected<void, FileError> finish();

  /// The first error that happened.
  const std::optional<FileError>& error() const { return error_; }

 private:
  tl::expected<void, FileError> failed(const std::string& action);
  tl::expected<void, FileError> write_through(std::span<const std::byte> bytes);
  void close();

  std::string path_;
  std::string part_path_;
  int descriptor_ = -1;
  bool is_created_ = false;
  bool is_finished_ = false;
  std::vector<std::byte> gathered_;
  std::optional<FileError> error_;
};

}  // namespace forge::formats::detail
