#include "forge/trace/joined_files.h"

#include <algorithm>

namespace forge::trace {

std::unique_ptr<JoinedFiles> JoinedFiles::open(const std::vector<std::streambuf*>& files) {
  std::unique_ptr<JoinedFiles> joined(new JoinedFiles);
  std::uint64_t bytes = 0;
  for (std::streambuf* const file : files) {
    const std::streamoff size = file->pubseekoff(0, std::ios::end, std::ios::in);
    if (size < 0) return nullptr;
    joined->parts_.push_back({file, bytes});
    bytes += static_cast<std::uint64_t>(size);
  }
  joined->set_bytes(bytes);
  return joined;
}

std::size_t JoinedFiles::file_of(std::uint64_t byte) const {
  const auto after = std::ranges::upper_bound(parts_, byte, {}, &Part::begin);
  return static_cast<std::size_t>(after - parts_.begin()) - 1;
}

std::streamsize JoinedFiles::fetch(std::uint64_t from, std::uint64_t count, char* to) {
  if (count == 0) return 0;
  const std::size_t number = file_of(from);
  const Part& part = parts_[number];
  const std::uint64_t end = number + 1 < parts_.size() ? parts_[number + 1].begin : bytes();
  part.file->pubseekpos(static_cast<std::streamoff>(from - part.begin), std::ios::in);
  return part.file->sgetn(to, static_cast<std::streamsize>(std::min(count, end - from)));
}

}  // namespace forge::trace
