#include "forge/trace/whole_lines.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace forge::trace {

std::unique_ptr<WholeLines> WholeLines::open(std::streambuf& file) {
  const std::streamoff size = file.pubseekoff(0, std::ios::end, std::ios::in);
  if (size < 0) return nullptr;
  std::unique_ptr<WholeLines> lines(new WholeLines(file));
  lines->set_bytes(lines->end_of_last_line(static_cast<std::uint64_t>(size)));
  lines->bytes_left_out_ = static_cast<std::uint64_t>(size) - lines->bytes();
  return lines;
}

/// Behind the last newline of the first `size` bytes; 0 if there is none.
std::uint64_t WholeLines::end_of_last_line(std::uint64_t size) {
  std::vector<char> block(kBlockBytes);
  for (std::uint64_t end = size; end > 0;) {
    const std::uint64_t begin = end - std::min(end, kBlockBytes);
    const auto count = static_cast<std::size_t>(fetch(begin, end - begin, block.data()));
    const std::size_t newline = std::string_view(block.data(), count).rfind('\n');
    if (newline != std::string_view::npos) return begin + newline + 1;
    end = begin;
  }
  return 0;
}

std::streamsize WholeLines::fetch(std::uint64_t from, std::uint64_t count, char* to) {
  file_.pubseekpos(static_cast<std::streamoff>(from), std::ios::in);
  return file_.sgetn(to, static_cast<std::streamsize>(count));
}

}  // namespace forge::trace
