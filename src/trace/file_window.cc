#include "file_window.h"

#include <algorithm>

namespace forge::trace::detail {

FileWindow::FileWindow(std::istream& in) : in_(in) {
  in_.clear();
  in_.seekg(0, std::ios::end);
  size_ = in_ ? static_cast<std::uint64_t>(in_.tellg()) : 0;
  is_small_ = size_ <= kSmallFileBytes;
}

std::string_view FileWindow::at(std::uint64_t byte) {
  if (byte >= size_) return {};
  if (byte < block_begin_ || byte >= block_begin_ + block_.size()) {
    block_begin_ = is_small_ ? 0 : byte;
    block_.resize(is_small_ ? size_ : std::min(kBlockBytes, size_ - byte));
    in_.clear();
    in_.seekg(static_cast<std::streamoff>(block_begin_));
    in_.read(block_.data(), static_cast<std::streamsize>(block_.size()));
    block_.resize(static_cast<std::size_t>(in_.gcount()));
    bytes_read_ += block_.size();
  }
  const std::size_t offset = byte - block_begin_;
  return offset < block_.size() ? std::string_view(block_).substr(offset) : std::string_view();
}

std::uint64_t FileWindow::line_start(std::uint64_t byte) {
  if (byte == 0) return 0;
  for (std::uint64_t from = byte - 1; from < size_;) {
    const std::string_view text = at(from);
    if (text.empty()) break;  // the file has become shorter
    const std::size_t newline = text.find('\n');
    if (newline != std::string_view::npos) return from + newline + 1;
    from += text.size();
  }
  return size_;
}

bool FileWindow::ends_with_newline() { return size_ > 0 && at(size_ - 1) == "\n"; }

bool FileWindow::starts_with(std::uint64_t begin, std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view part = at(begin + i).substr(0, text.size() - i);
    if (part.empty() || text.substr(i, part.size()) != part) return false;
    i += part.size();
  }
  return true;
}

tl::expected<std::string, TraceError> FileWindow::line(std::uint64_t begin) {
  std::string line;
  while (true) {
    const std::string_view text = at(begin + line.size());
    const std::size_t newline = text.find('\n');
    line.append(text.substr(0, newline));
    if (newline != std::string_view::npos) return line;
    if (line.size() > TraceReader::kMaxLineBytes) {
      return tl::unexpected(TraceError{
          0, begin, "longer than " + std::to_string(TraceReader::kMaxLineBytes) + " bytes"});
    }
    if (text.empty()) {
      return tl::unexpected(TraceError{0, begin + line.size(), kEndsWithinLine});
    }
  }
}

TraceError FileWindow::with_line_number(TraceError error) {
  error.line = 1;
  for (std::uint64_t from = 0; from < error.byte;) {
    const std::string_view text = at(from).substr(0, error.byte - from);
    if (text.empty()) break;
    error.line += static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
    from += text.size();
  }
  return error;
}

}  // namespace forge::trace::detail
