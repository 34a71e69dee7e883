// BlockStream: an input stream that seeks, over bytes that somebody else can fetch by their offset.
//
// Thread contract: one thread at a time.
#pragma once

#include <cstdint>
#include <istream>
#include <streambuf>
#include <vector>

namespace forge::trace {

class BlockStream : private std::streambuf {
 public:
  /// A read past the end fails as at the end of any other stream.
  std::istream& stream() { return stream_; }
  std::uint64_t bytes() const { return bytes_; }

 protected:
  static constexpr std::uint64_t kBlockBytes = std::uint64_t{1} << 16;

  BlockStream() : stream_(this) {}
  ~BlockStream() override = default;

  void set_bytes(std::uint64_t bytes) { bytes_ = bytes; }

 private:
  /// Writes up to `count` bytes, those from `from` on, to `to`. Returns: how many there were; 0
  /// only at the end, or if they cannot be read.
  virtual std::streamsize fetch(std::uint64_t from, std::uint64_t count, char* to) = 0;

  int_type underflow() override;
  pos_type seekoff(off_type offset, std::ios::seekdir from, std::ios::openmode which) override;
  pos_type seekpos(pos_type position, std::ios::openmode which) override;

  std::istream stream_;
  std::uint64_t bytes_ = 0;
  std::vector<char> block_ = std::vector<char>(kBlockBytes);
  std::uint64_t block_end_ = 0;  // offset of the end of block_
};

}  // namespace forge::trace
