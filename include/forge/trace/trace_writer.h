// TraceWriter: records a run as it happens, one line an event (format: trace_json.h).
//
// Recording has to be cheap enough to leave on: a step is written digit by digit into one
// buffer that is reused, so that nothing is allocated once the buffer has grown to the longest
// line, and goes to the output as a whole line.
//
// Where the header says so, tokens are veiled (token_veil.h).
//
// Where an output is full, the recording goes on in a new file: the caller gives the state of the
// scheduler, with which that file begins, and the links of its steps go on from those before.
//
// One run may go to several outputs, a file and a window say, each with files of its own.
//
// An output that fails gets no more, and that is all: the run and the other outputs go on.
//
// Borrows the outputs or the stream, which must outlive it. Thread contract: one thread at a time.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forge/trace/open_requests.h"
#include "forge/trace/text_buffer.h"
#include "forge/trace/token_veil.h"
#include "forge/trace/trace_event.h"
#include "forge/trace/trace_header.h"
#include "forge/trace/trace_output.h"

namespace forge::trace {

class TraceWriter {
 public:
  /// Writes the header.
  TraceWriter(TraceOutput& out, const TraceHeader& header);
  TraceWriter(std::span<TraceOutput* const> outputs, const TraceHeader& header);
  /// The same for a stream, to which each line goes at once.
  TraceWriter(std::ostream& out, const TraceHeader& header);

  /// These record events, in the order in which they happen: submit() after the scheduler gave the
  /// id, cancel() and release_session() after it agreed, step() after the commit.
  /// Requires: what to_json_line() requires.
  void submit(SeqId seq, const Request& request, std::string_view trace_id = {});
  void cancel(SeqId seq, FinishReason reason);
  void release_session(SessionId session);
  void clear_prefix_cache();
  void step(const StepPlan& plan, const StepResult& result, const CacheDelta& cache);

  /// True after a step with which a file is full: go_on() is wanted before the next event.
  bool wants_snapshot() const;
  /// Begins the next file of each output that is full. Requires: wants_snapshot(), and `scheduler`
  /// is the one of the run.
  void go_on(const SchedulerSnapshot& scheduler);

  /// The digest of the run so far: the link of the last step, 0 before the first.
  std::uint64_t digest() const { return run_.value(); }
  std::uint64_t steps() const { return steps_; }

  /// Hands everything to the outputs' devices. False if any write so far has failed (a full
  /// disk, say): that trace is then incomplete.
  [[nodiscard]] bool flush();

  /// Why an output gets no more, in the system's words; nullopt as long as no write has failed.
  const std::optional<std::string>& failure() const { return failure_; }
  /// The number of steps that had been recorded when flush() last succeeded. After a failure at
  /// least these are in every trace; if every step was flushed, in the failed one exactly these.
  std::uint64_t steps_flushed() const { return steps_flushed_; }

 private:
  struct Output {
    TraceOutput* out;
    bool has_failed = false;
  };

  TraceWriter(std::unique_ptr<TraceOutput> owned, const TraceHeader& header);

  void end_line();
  static bool is_full(const Output& output) { return !output.has_failed && output.out->is_full(); }
  void write(Output& output, std::string_view line);
  void note(Output& output, const TraceOutput::Written& written);

  std::unique_ptr<TraceOutput> owned_;  // around a stream
  std::vector<Output> outputs_;
  TraceHeader header_;
  std::optional<OpenRequests> open_;  // if there may be a next file
  std::optional<TokenVeil> veil_;     // if the header says so
  TextBuffer line_;
  RunDigest run_;
  std::uint64_t steps_ = 0;
  std::uint64_t steps_flushed_ = 0;
  std::optional<std::string> failure_;
};

}  // namespace forge::trace
