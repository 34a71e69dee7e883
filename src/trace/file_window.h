// FileWindow: lines of a file, wherever they are, reading little and counting what is read.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>

#include "forge/trace/trace_reader.h"

namespace forge::trace::detail {

class FileWindow {
 public:
  /// What one read fetches. A small file is read once, as a whole.
  static constexpr std::uint64_t kBlockBytes = 4096;
  static constexpr std::uint64_t kSmallFileBytes = 16 * kBlockBytes;

  /// Requires: `in` can seek.
  explicit FileWindow(std::istream& in);

  std::uint64_t size() const { return size_; }
  std::uint64_t bytes_read() const { return bytes_read_; }

  /// The first start of a line at or after `byte`; size() if there is none.
  std::uint64_t line_start(std::uint64_t byte);
  bool ends_with_newline();
  /// Does the line that starts at `begin` start with `text`? Requires: text is not empty.
  bool starts_with(std::uint64_t begin, std::string_view text);
  /// The line that starts at `begin`, without its newline.
  /// Errors: the file ends first, or the line is longer than TraceReader::kMaxLineBytes.
  tl::expected<std::string, TraceError> line(std::uint64_t begin);

  /// The same error with the number of its line.
  TraceError with_line_number(TraceError error);

 private:
  /// What is in memory from `byte` on; empty only at the end of the file.
  std::string_view at(std::uint64_t byte);

  std::istream& in_;
  std::uint64_t size_ = 0;
  bool is_small_ = false;
  std::uint64_t bytes_read_ = 0;
  std::string block_;
  std::uint64_t block_begin_ = 0;
};

}  // namespace forge::trace::detail
