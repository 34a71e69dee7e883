// WholeLines: a trace up to the end of its last whole line.
//
// A program that was killed, or a disk that failed, may leave half of a line at the end of a trace.
// The lines before it are a trace, too, only a shorter one (trace_json.h: a trace may end after any
// line). This is the file without the rest, as a stream that reads and seeks like the file itself,
// so that everything that reads traces reads what is left of a recording:
//
//   file         {"forge_trace":...}\n {"step":...}\n {"step":...}\n {"step":{"st
//   WholeLines   {"forge_trace":...}\n {"step":...}\n {"step":...}\n
//                                                                    bytes_left_out() = 12
//
// Its end is fixed when it is opened: lines that are recorded later are not seen. Borrows the file.
// Thread contract: one thread at a time.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <streambuf>
#include <string>
#include <vector>

namespace forge::trace {

class WholeLines : private std::streambuf {
 public:
  /// Reads backwards from the end to the last newline. Null if `file` cannot seek (a pipe).
  static std::unique_ptr<WholeLines> open(std::streambuf& file);

  /// The whole lines; a read past their end fails as at the end of any other stream.
  std::istream& stream() { return stream_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t bytes_left_out() const { return bytes_left_out_; }

 private:
  explicit WholeLines(std::streambuf& file) : file_(file), stream_(this), block_(kBlockBytes) {}
  static constexpr std::uint64_t kBlockBytes = std::uint64_t{1} << 16;

  std::streamsize fetch(std::uint64_t from, std::uint64_t count);
  std::uint64_t end_of_last_line(std::uint64_t size);

  int_type underflow() override;
  pos_type seekoff(off_type offset, std::ios::seekdir from, std::ios::openmode which) override;
  pos_type seekpos(pos_type position, std::ios::openmode which) override;

  std::streambuf& file_;
  std::istream stream_;
  std::uint64_t bytes_ = 0;
  std::uint64_t bytes_left_out_ = 0;
  std::vector<char> block_;
  std::uint64_t block_end_ = 0;  // offset in the file of the end of block_
};

}  // namespace forge::trace
