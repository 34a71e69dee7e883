#include "forge/trace/whole_lines.h"

#include <algorithm>
#include <string_view>

namespace forge::trace {

std::unique_ptr<WholeLines> WholeLines::open(std::streambuf& file) {
  const std::streamoff size = file.pubseekoff(0, std::ios::end, std::ios::in);
  if (size < 0) return nullptr;
  std::unique_ptr<WholeLines> lines(new WholeLines(file));
  lines->bytes_ = lines->end_of_last_line(static_cast<std::uint64_t>(size));
  lines->bytes_left_out_ = static_cast<std::uint64_t>(size) - lines->bytes_;
  return lines;
}

/// Behind the last newline of the first `size` bytes; 0 if there is none.
std::uint64_t WholeLines::end_of_last_line(std::uint64_t size) {
  for (std::uint64_t end = size; end > 0;) {
    const std::uint64_t begin = end - std::min(end, kBlockBytes);
    const auto count = static_cast<std::size_t>(fetch(begin, end - begin));
    const std::size_t newline = std::string_view(block_.data(), count).rfind('\n');
    if (newline != std::string_view::npos) return begin + newline + 1;
    end = begin;
  }
  return 0;
}

/// Bytes of the file into block_. Returns: how many there were.
std::streamsize WholeLines::fetch(std::uint64_t from, std::uint64_t count) {
  file_.pubseekpos(static_cast<std::streamoff>(from), std::ios::in);
  return file_.sgetn(block_.data(), static_cast<std::streamsize>(count));
}

WholeLines::int_type WholeLines::underflow() {
  const std::streamsize count = fetch(block_end_, std::min(kBlockBytes, bytes_ - block_end_));
  setg(block_.data(), block_.data(), block_.data() + count);
  block_end_ += static_cast<std::uint64_t>(count);
  return count == 0 ? traits_type::eof() : traits_type::to_int_type(block_[0]);
}

WholeLines::pos_type WholeLines::seekoff(off_type offset, std::ios::seekdir from,
                                         std::ios::openmode which) {
  const auto here = static_cast<off_type>(block_end_) - (egptr() - gptr());
  const off_type start = from == std::ios::beg   ? 0
                         : from == std::ios::cur ? here
                                                 : static_cast<off_type>(bytes_);
  return seekpos(start + offset, which);
}

WholeLines::pos_type WholeLines::seekpos(pos_type position, std::ios::openmode /*which*/) {
  const off_type to = position;
  if (to < 0 || to > static_cast<off_type>(bytes_)) return pos_type(off_type(-1));
  block_end_ = static_cast<std::uint64_t>(to);
  setg(block_.data(), block_.data(), block_.data());
  return position;
}

}  // namespace forge::trace
