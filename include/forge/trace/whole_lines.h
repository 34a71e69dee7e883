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
#include <ios>
#include <memory>
#include <streambuf>

#include "forge/trace/block_stream.h"

namespace forge::trace {

class WholeLines final : public BlockStream {
 public:
  /// Reads backwards from the end to the last newline. Null if `file` cannot seek (a pipe).
  static std::unique_ptr<WholeLines> open(std::streambuf& file);

  std::uint64_t bytes_left_out() const { return bytes_left_out_; }

 private:
  explicit WholeLines(std::streambuf& file) : file_(file) {}

  std::uint64_t end_of_last_line(std::uint64_t size);
  std::streamsize fetch(std::uint64_t from, std::uint64_t count, char* to) override;

  std::streambuf& file_;
  std::uint64_t bytes_left_out_ = 0;
};

}  // namespace forge::trace
