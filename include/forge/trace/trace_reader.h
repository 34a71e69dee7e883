// TraceReader: a trace, event by event, from a stream (format: trace_json.h).
//
// Whatever the bytes, the answer is an event, the end, or a TraceError with the place: a trace
// comes from a disk, a colleague or a fuzzer. An event that was read satisfies the rules of
// the format, so its ranges may be used without further checks; whether it is the truth
// about a run is for LinkCheck and replay.h to say.
//
// The files of a recording that went on in new ones, one after the other, are a trace: where a
// header stands again it has to be the same, and the snapshot after it is an event like others.
//
// Memory: one line. Lines above kMaxLineBytes are refused.
// Borrows the stream. Thread contract: one thread at a time.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "forge/trace/trace_event.h"
#include "forge/trace/trace_header.h"

namespace forge::trace {

/// The place where a trace cannot be read, and the reason.
struct TraceError {
  std::uint64_t line = 0;  ///< 1 is the header
  std::uint64_t byte = 0;  ///< offset in the file: of the fault, or else of its line
  std::string message;

  friend bool operator==(const TraceError&, const TraceError&) = default;
};
std::string to_string(const TraceError& error);

/// The message about a file that ends within a line. Its whole lines are a trace (whole_lines.h),
/// which every command of forge-trace reads with --truncated.
inline constexpr const char* kEndsWithinLine =
    "the file ends within a line; --truncated takes the whole lines before it";

/// The place where a line of a trace starts.
struct TracePlace {
  std::uint64_t line = 1;
  std::uint64_t byte = 0;

  friend bool operator==(const TracePlace&, const TracePlace&) = default;
};

class TraceReader {
 public:
  static constexpr std::size_t kMaxLineBytes = std::size_t{1} << 26;
  /// Deepest nesting of arrays and objects in a line.
  static constexpr int kMaxDepth = 16;

  /// Reads the header.
  /// Errors: not a trace, a header that is cut off, another version, a header out of range.
  static tl::expected<TraceReader, TraceError> open(std::istream& in);

  /// Goes on in the middle: `place` is one that place() has returned. Seeks the stream.
  static TraceReader resume(std::istream& in, TraceHeader header, const TracePlace& place);

  const TraceHeader& header() const { return header_; }

  /// The next event; nullopt at the end. After an error the reader is at its end.
  tl::expected<std::optional<TraceEvent>, TraceError> next();

  /// The line that next() read last; the header before the first call.
  std::uint64_t line() const { return line_; }
  std::uint64_t line_byte() const { return line_start_; }
  /// The line that next() reads next.
  TracePlace place() const { return {line_ + 1, next_start_}; }

  /// An error that the caller has found in the line read last.
  TraceError error_here(std::string message) const;

 private:
  explicit TraceReader(std::istream& in) : in_(&in) {}

  /// The next line as JSON; nullopt at the end of the file.
  tl::expected<std::optional<nlohmann::json>, TraceError> next_line();
  tl::expected<std::optional<TraceEvent>, TraceError> next_event();
  tl::expected<TraceEvent, std::string> to_event(const nlohmann::json& line);
  tl::expected<bool, TraceError> read_text();

  std::istream* in_;
  TraceHeader header_;
  std::string text_;
  std::uint64_t line_ = 0;
  std::uint64_t line_start_ = 0;
  std::uint64_t next_start_ = 0;
  bool failed_ = false;
  bool ends_within_line_ = false;
  bool is_after_header_ = true;  // or may be, where it was resumed
  bool goes_on_ = false;         // is after another header than the first
};

/// A step whose link is not the digest of what the trace says up to there: the plan, the
/// result or an earlier step was changed after it was recorded.
struct LinkMismatch {
  StepId step;
  std::uint64_t recorded = 0;
  std::uint64_t computed = 0;

  friend bool operator==(const LinkMismatch&, const LinkMismatch&) = default;
};
std::string to_string(const LinkMismatch& mismatch);

/// Follows the links of a trace, from those of the snapshot on with which it begins. It is not part
/// of the reader, because a caller that compares the steps with something else wants to name the
/// field that differs before the digest that must.
class LinkCheck {
 public:
  std::optional<LinkMismatch> add(const StepEvent& step);
  /// Where a trace begins with it; does nothing after a step.
  void begin(const SnapshotEvent& snapshot);
  std::uint64_t digest() const { return run_.value(); }

 private:
  RunDigest run_;
  bool has_begun_ = false;
};

}  // namespace forge::trace
