// TraceOutput: where the lines of a trace go, and how they fail to get there.
//
// A recording outlives what it is written to: disks fill up, limits are reached, readers of a pipe
// go away. So an output that fails says why, at the call in which it becomes known, and a trace
// that has failed once is over: a line that is missing cannot be made good by those after it.
//
// Thread contract of all of them: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace forge::trace {

class TraceOutput {
 public:
  /// Errors: the system's reason, such as "No space left on device". Nothing may be written after
  /// an error.
  using Written = tl::expected<void, std::string>;

  TraceOutput() = default;
  TraceOutput(const TraceOutput&) = delete;
  TraceOutput& operator=(const TraceOutput&) = delete;
  virtual ~TraceOutput() = default;

  /// Takes one line, its newline included, and may keep it until flush().
  virtual Written write(std::string_view line) = 0;
  /// Hands everything that was kept to the system.
  virtual Written flush() = 0;

  /// True if the recording goes on in a new file when one is full.
  virtual bool has_next() const { return false; }
  /// Should the recording go on in a new file after the line that was written last?
  virtual bool is_full() const { return false; }
  /// Ends the file and begins the next one. Requires: has_next().
  virtual Written next() { return {}; }
};

/// Writes each line to a borrowed stream at once.
class TraceStream final : public TraceOutput {
 public:
  explicit TraceStream(std::ostream& out) : out_(out) {}

  Written write(std::string_view line) override;
  Written flush() override;

 private:
  std::ostream& out_;
};

/// Writes to a file of the system, which it owns.
///
/// Invariants:
///   1. Nothing is overwritten and nobody else's trace is written to: the file is new, or empty, or
///      does not keep what it gets (a pipe, /dev/null). Of two programs that are given one
///      file, one gets it.
///   2. A file ends with a whole line, also after an error: what the failed write has left of a
///      line is cut off. (A program that is killed in the middle of a write leaves it there.)
class TraceFile final : public TraceOutput {
 public:
  /// Lines are kept until there are this many bytes; a line has about a thousand.
  static constexpr std::size_t kBufferBytes = std::size_t{1} << 16;

  /// Called during the call that fails, with the reason that this call returns.
  using OnFailure = std::function<void(const std::string& reason)>;

  /// Creates the file, of mode 0600, or takes an empty one, a pipe or a character device. Opening a
  /// pipe waits for its reader.
  /// Errors: a sentence that names `path`: it is not empty, another program is recording into it,
  /// or it cannot be written to.
  static tl::expected<std::unique_ptr<TraceFile>, std::string> create(const std::string& path,
                                                                      OnFailure on_failure = {});
  /// Lines that have not been flushed are lost.
  ~TraceFile() override;

  Written write(std::string_view line) override;
  Written flush() override;

 private:
  TraceFile(int file, OnFailure on_failure) : file_(file), on_failure_(std::move(on_failure)) {}

  tl::expected<void, std::string> take(const std::string& path);
  Written fail(int error, std::size_t bytes_written);

  int file_;
  OnFailure on_failure_;
  bool is_regular_ = false;
  std::string kept_;               // whole lines
  std::uint64_t bytes_whole_ = 0;  // in the file, up to the end of a line
};

}  // namespace forge::trace
