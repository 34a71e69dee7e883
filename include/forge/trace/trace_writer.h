// TraceWriter: records a run as it happens, one line an event (format: trace_json.h).
//
// Recording has to be cheap enough to leave on: a step is written digit by digit into one
// buffer that is reused, so that nothing is allocated once the buffer has grown to the longest
// line, and goes to the stream as a whole line.
//
// Borrows the stream, which must outlive it. Thread contract: one thread at a time.
#pragma once

#include <cstdint>
#include <iosfwd>

#include "forge/trace/text_buffer.h"
#include "forge/trace/trace_event.h"

namespace forge {

class TraceWriter {
 public:
  /// Writes the header.
  TraceWriter(std::ostream& out, const TraceHeader& header);

  /// Events, in the order in which they happen: submit() after the scheduler gave the id, cancel()
  /// and release_session() after it agreed, step() after the commit.
  /// Requires: those of to_json_line().
  void submit(SeqId seq, const Request& request);
  void cancel(SeqId seq, FinishReason reason);
  void release_session(SessionId session);
  void clear_prefix_cache();
  void step(const StepPlan& plan, const StepResult& result);

  /// The digest of the run so far: the link of the last step, 0 before the first.
  std::uint64_t digest() const { return run_.value(); }
  std::uint64_t steps() const { return steps_; }

  /// Hands everything to the stream's device. False if any write so far has failed (a full
  /// disk, say): the trace is then incomplete.
  [[nodiscard]] bool flush();

 private:
  void end_line();

  std::ostream& out_;
  TextBuffer line_;
  RunDigest run_;
  std::uint64_t steps_ = 0;
};

}  // namespace forge
