// Executor: a target. It runs plans; it never decides what runs and never learns how
// blocks are found.
//
// Implementations: cpu (forge/cpu/cpu_executor.h), sim and cuda (forge/gpu/gpu_executor.h); fakes
// in the tests. An executor keeps, per sequence, the token ids and its copy of the block table, and
// the KV pool itself. Thread contract: one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>

#include "forge/core/request.h"
#include "forge/core/step_plan.h"

namespace forge {

/// The step did not happen: no token of it may be used, and no KV that it should have written or
/// copied. The engine answers for the target. If it can reopen() a lost one, all KV was lost
/// (lose_step); else every slice ended in an error (fail_step), so every sequence that was to run
/// ends with it, and a sequence that the plan swaps out is recomputed (Scheduler::commit).
struct ExecutionError {
  std::string message;
  bool target_lost = false;  ///< no later step can succeed either, unless it is opened again
};

/// What a sequence has behind it when it comes to a target in the middle of its run.
struct PastRun {
  std::span<const TokenId> output;  ///< its tokens behind the prompt
  std::uint32_t told = 1;  ///< leading tokens of the prompt whose log-probabilities were told
};

class Executor {
 public:
  /// The answer of a target that makes no masks.
  static constexpr const char* kNoGrammars =
      "the grammar of the output is refused: this target knows no grammars";

  virtual ~Executor() = default;

  /// Why `request` cannot run here, whatever else is running, in a sentence; nullopt if it can. Any
  /// thread may ask.
  virtual std::optional<std::string> refuses(const Request& request) const {
    return request.sampling.grammar ? std::optional<std::string>(kNoGrammars) : std::nullopt;
  }

  /// Makes `seq` known before the first plan that names it. A plan that lists it as
  /// finished makes it unknown again. Requires: !refuses(request).
  virtual void begin(SeqId seq, const Request& request) = 0;

  /// The same for a sequence that has run elsewhere. Its KV is not here: the plans that follow
  /// compute it (trace/restore_target.h). Errors: a sentence that says why not: the output is none
  /// of the request, say. Requires: that of begin().
  virtual tl::expected<void, std::string> resume(SeqId /*seq*/, const Request& /*request*/,
                                                 const PastRun& /*past*/) {
    return tl::unexpected(std::string("this target cannot come into a run in the middle"));
  }

  /// Begins `plan`, if the target works by itself: then it does so between this call and
  /// execute(plan, ...), while the caller has time for other things. Errors are those of
  /// execute(). Other targets do nothing yet.
  ///
  /// Requires: `plan` stays as it is until it is executed, which is next.
  virtual void start(const StepPlan& /*plan*/) {}

  /// Runs `plan`, or waits for it if it was started, and writes its answer over `result`, whose
  /// memory is reused.
  ///
  /// Bookkeeping cannot fail. Even when it returns an error, the target has recorded which
  /// sequences finished, left and entered the batch and how the tables changed, because later plans
  /// build on that. It does so first; copies and slices may then have happened in part or not at
  /// all.
  ///
  /// Requires: plans come in the order in which they were scheduled.
  virtual tl::expected<void, ExecutionError> execute(const StepPlan& plan, StepResult& result) = 0;

  /// Opens the target again after a step that said that it is lost. What it knows of the sequences
  /// stays; their KV is gone, on the device and on the host, and so are their tables: every
  /// sequence that was in the batch is out of it, as if it had been preempted. Errors: a sentence
  /// that says why not.
  virtual tl::expected<void, std::string> reopen() {
    return tl::unexpected(std::string("this target cannot be opened again in the same process"));
  }
};

}  // namespace forge
