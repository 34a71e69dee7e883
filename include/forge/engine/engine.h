// Engine: plan -> execute -> commit, boring on purpose.
//
// A step cannot be planned before the one before it is committed: a token may end its sequence, and
// every plan is a function of what has happened. So what can be done while a target works is what
// no plan depends on, such as sending the tokens of the step before: that is what `meanwhile` is
// for.
//
// Joins a Scheduler, which decides, with an Executor, which does. It decides nothing itself
// and knows neither text nor threads; its caller (a test, the benchmark, the server's loop) sees
// each plan and result as a value.
//
// Example, given `const SchedulerConfig& config`, `Executor& executor` and
// `const Request& request`:
//
//   Engine engine(config, executor);
//   const SeqId seq = *engine.submit(request);
//   while (engine.has_work()) {
//     const auto [plan, result] = engine.step();
//     ...
//   }
//
// Owns the scheduler; borrows the executor and the trace writer. Thread contract: one thread
// at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "forge/core/executor.h"
#include "forge/core/names.h"
#include "forge/core/scheduler.h"
#include "forge/engine/step_times.h"

namespace forge::trace {
class TraceWriter;
}

namespace forge::engine {

/// What has become of a recording.
struct TraceStatus {
  std::uint64_t steps = 0;             ///< steps that are in the trace
  std::optional<std::string> failure;  ///< why it ends with these, in the system's words

  friend bool operator==(const TraceStatus&, const TraceStatus&) = default;
};

/// What becomes of a run whose target is lost.
enum class OnTargetLost : std::uint8_t {
  exit,    ///< every sequence ends with an error, and nothing runs any more
  reopen,  ///< the target is opened again, and everything that ran runs again from its first token
};
constexpr Names<OnTargetLost> names_of(OnTargetLost) { return {"exit", "reopen"}; }

class Engine {
 public:
  /// A target that is lost more often than this in a row, without a step that succeeds, is not
  /// opened again.
  static constexpr std::uint32_t kReopensInARow = 3;

  /// `trace`, if any, receives every event in order, before the next one happens.
  Engine(const SchedulerConfig& config, Executor& executor, trace::TraceWriter* trace = nullptr,
         OnTargetLost on_target_lost = OnTargetLost::exit);

  /// Makes the request known to scheduler and executor. `trace_id`, for the trace: that of
  /// SubmitEvent (trace_event.h). Errors: those of Scheduler::submit; what the executor refuses.
  tl::expected<SeqId, SubmitError> submit(const Request& request, std::string_view trace_id = {});

  /// What submit() would answer. Any thread may ask. It may have to compile a grammar, which then
  /// need not be compiled again.
  tl::expected<void, SubmitError> would_take(const Request& request) const;

  /// Ends a sequence; the next step retires it. Errors: UnknownSequence.
  tl::expected<void, UnknownSequence> cancel(SeqId seq,
                                             FinishReason reason = FinishReason::cancelled);

  /// Gives up the KV that is kept for `session`. Errors: UnknownSession.
  tl::expected<void, UnknownSession> release_session(SessionId session);

  /// Forgets all cached prefixes, those of sessions too.
  void clear_prefix_cache();

  /// Views into the engine, valid until the next call that changes it.
  struct Step {
    const StepPlan& plan;
    const StepResult& result;
  };

  /// Runs one step, and `meanwhile` when the target has begun to work on it: if the target works by
  /// itself, at the same time. If it fails, every sequence of the plan ends with
  /// FinishReason::error: the result says so slice by slice, last_error() says why. If the target
  /// was lost and has been opened again, no sequence ends: the result says that all KV is lost.
  /// Requires: `meanwhile` uses neither the engine, but for its trace, nor an earlier Step.
  Step step(const std::function<void()>& meanwhile = {});

  /// Of the last step. No plan depends on them.
  const StepTimes& step_times() const { return times_; }

  /// Hands the events so far to the system, if they are recorded: a crash of the program
  /// then leaves them in the trace, and a full disk shows in trace_status().
  void flush_trace();
  /// nullopt without a trace. The steps are those of the last flush_trace() that succeeded.
  std::optional<TraceStatus> trace_status() const;

  bool has_work() const { return scheduler_.has_work(); }
  const Scheduler& scheduler() const { return scheduler_; }

  /// The target's message when it last failed; empty if it never did.
  const std::string& last_error() const { return last_error_; }

  /// True once the target has said that no later step can succeed, and was not opened again. Steps
  /// still retire ended sequences, so that all blocks are free once all sequences are cancelled.
  bool target_lost() const { return target_lost_; }
  /// How often it was opened again.
  std::uint64_t reopens() const { return reopens_; }

 private:
  void take_failure(const StepPlan& plan, const ExecutionError& error);
  bool reopen();

  Scheduler scheduler_;
  Executor& executor_;
  trace::TraceWriter* trace_;
  StepResult result_;
  StepTimes times_;
  std::string last_error_;
  OnTargetLost on_target_lost_;
  bool target_lost_ = false;
  std::uint64_t reopens_ = 0;
  std::uint32_t reopens_in_a_row_ = 0;
};

}  // namespace forge::engine
