// StepIndex: finds the line of a step in a trace without reading the trace.
//
// Steps are numbered 0, 1, 2, ..., or from that of a snapshot on, and stand in this order, so a
// step can be looked up as a word in a dictionary: guess an offset, go to the next line that is a
// step, and see whether that is too early or too late. The guess is proportional (interpolation
// search); every fourth one is the middle, so that O(log bytes) places are looked at, however
// uneven the lines. What is found on the way is remembered for the next lookup.
//
// A guess may land among lines that are no steps (many requests submitted at once). Then
// O(log bytes) more places on both sides are tried, and only if none has a step all of it is read.
//
// Only the lines that it reads are checked. Borrows the stream, which must be able to seek. Thread
// contract: one thread at a time.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <tl/expected.hpp>

#include "forge/trace/trace_reader.h"

namespace forge::trace {

namespace detail {
class FileWindow;
}

class StepIndex {
 public:
  /// A step's line: bytes [begin, end) of the file, its newline included.
  struct Line {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t link = 0;  ///< RunDigest after the step
  };

  /// Reads the header and finds the last step.
  /// Errors: as TraceReader::open(); a file that ends within a line.
  static tl::expected<StepIndex, TraceError> open(std::istream& in);
  StepIndex(StepIndex&&) noexcept;
  ~StepIndex();

  const TraceHeader& header() const { return header_; }
  /// The first step, that of the snapshot if the trace begins with one, and the one after the last.
  std::uint64_t first() const { return first_; }
  std::uint64_t end() const { return end_; }
  std::uint64_t file_bytes() const;
  /// Bytes fetched so far.
  std::uint64_t bytes_read() const;

  /// Requires: first() <= step < end(). Errors: a line that was looked at is damaged, or the steps
  /// are not in order; with line and byte.
  tl::expected<Line, TraceError> find(StepId step);

  /// The byte at which the event after `step` starts; without a step, the end of the header, before
  /// the snapshot if there is one.
  /// Requires and errors: as find().
  tl::expected<std::uint64_t, TraceError> end_of(std::optional<StepId> step);

  /// Returns `error` with the number of its line. To count lines, it reads all that comes before.
  TraceError with_line_number(TraceError error);

 private:
  struct Found {
    StepId step;
    Line line;
  };
  struct EventLine {
    TraceEvent event;
    std::uint64_t end = 0;  // byte after its newline
  };
  using Search = tl::expected<std::optional<Found>, TraceError>;

  explicit StepIndex(std::istream& in);

  tl::expected<void, TraceError> find_last();
  tl::expected<void, TraceError> find_first();
  Search probe(std::uint64_t from, std::uint64_t to, std::uint64_t guess);
  Search first_step_in(std::uint64_t from, std::uint64_t to, std::uint64_t lines);
  tl::expected<void, TraceError> read_snapshot();
  tl::expected<EventLine, TraceError> read_event(std::uint64_t begin);
  tl::expected<Found, TraceError> read_step(std::uint64_t begin);
  tl::unexpected<TraceError> error_at(std::uint64_t byte, std::string message);

  std::unique_ptr<detail::FileWindow> file_;
  TraceHeader header_;
  std::uint64_t header_end_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t end_ = 0;
  std::map<std::uint64_t, Line> known_;  // by step
};

}  // namespace forge::trace
