// TraceTimeline: goes to any step of a trace, forwards and backwards in time.
//
// Plans are deltas, so the state at a step follows from all steps before it. Going back means
// starting over; not from the beginning, but from a checkpoint: a copy of the TraceState and the
// place in the file where it was taken.
//
//   step     0 . . . . . . . 64 . . . . . . 128 . . . . . . 192
//   state    C               C               C      <--+
//   going to 150 from 170:                   | read 22 |
//
// Checkpoints start out kCheckpointSteps apart. When they become too many, or take too much memory,
// every other one is given up and the distance doubles, so a step back costs a bounded share of
// the trace. Going forwards to a step for the first time reads all events up to it once.
//
// Borrows the stream, which must be able to seek. Thread contract: one thread at a time.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <tl/expected.hpp>
#include <vector>

#include "forge/trace/trace_reader.h"
#include "forge/trace/trace_state.h"

namespace forge::trace {

/// One step, and the events before it.
struct TraceMoment {
  std::vector<TraceEvent> asked;  ///< the events since the step before
  StepEvent step;
  std::uint64_t line = 0;  ///< line of the step
};

class TraceTimeline {
 public:
  static constexpr std::uint64_t kCheckpointSteps = 64;
  static constexpr std::size_t kMaxCheckpoints = 256;
  static constexpr std::uint64_t kMaxCheckpointBytes = std::uint64_t{256} << 20;

  /// Errors: as TraceReader::open().
  static tl::expected<TraceTimeline, TraceError> open(std::istream& in);

  const TraceHeader& header() const { return header_; }

  /// Goes to `step`, or to the first one if the trace begins after it. False if the trace ends
  /// before it; moment() and state() are then those of the last step, if there is any. Errors: the
  /// trace cannot be read or contradicts itself.
  tl::expected<bool, TraceError> seek(StepId step);

  /// The step last reached, and the state after it: its plan and its result are in.
  /// Requires: seek() has been called and the trace has a step.
  const TraceMoment& moment() const { return moment_.value(); }
  const TraceState& state() const { return state_; }
  bool has_moment() const { return moment_.has_value(); }

  std::size_t checkpoint_count() const { return checkpoints_.size(); }

 private:
  struct Checkpoint {
    TracePlace place;
    TraceState state;
    std::uint64_t bytes = 0;  // of memory, about
  };

  TraceTimeline(std::istream& in, TraceReader reader);

  void return_to_checkpoint(StepId step);
  tl::expected<bool, TraceError> read_step();
  void keep_checkpoint();

  std::istream* in_;
  TraceHeader header_;
  TraceReader reader_;
  TraceState state_;
  std::optional<TraceMoment> moment_;
  std::map<std::uint64_t, Checkpoint> checkpoints_;  // by next step
  std::uint64_t distance_ = kCheckpointSteps;
};

}  // namespace forge::trace
