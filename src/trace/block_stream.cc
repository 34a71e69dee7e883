#include "forge/trace/block_stream.h"

#include <algorithm>

namespace forge::trace {

BlockStream::int_type BlockStream::underflow() {
  const std::streamsize count =
      fetch(block_end_, std::min(kBlockBytes, bytes_ - block_end_), block_.data());
  setg(block_.data(), block_.data(), block_.data() + count);
  block_end_ += static_cast<std::uint64_t>(count);
  return count == 0 ? traits_type::eof() : traits_type::to_int_type(block_[0]);
}

BlockStream::pos_type BlockStream::seekoff(off_type offset, std::ios::seekdir from,
                                           std::ios::openmode which) {
  const auto here = static_cast<off_type>(block_end_) - (egptr() - gptr());
  const off_type start = from == std::ios::beg   ? 0
                         : from == std::ios::cur ? here
                                                 : static_cast<off_type>(bytes_);
  return seekpos(start + offset, which);
}

BlockStream::pos_type BlockStream::seekpos(pos_type position, std::ios::openmode /*which*/) {
  const off_type to = position;
  if (to < 0 || to > static_cast<off_type>(bytes_)) return pos_type(off_type(-1));
  block_end_ = static_cast<std::uint64_t>(to);
  setg(block_.data(), block_.data(), block_.data());
  return position;
}

}  // namespace forge::trace
