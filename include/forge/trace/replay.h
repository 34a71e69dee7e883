// replay: does a trace say what happens?
//
// Builds a scheduler from the header, feeds it the recorded submissions and cancellations, and at
// each recorded step decides, executes and commits anew. The first plan, result or link that
// is not the recorded one ends the replay. The recorded step is never executed or committed:
// it is only compared, so a damaged trace cannot lead the scheduler or the target astray. Only
// replay_plans(), which has no target, takes the results as recorded.
//
//   trace    submit ----------------+ step (plan, result, link)
//                                   |   |      |      |
//   replay   Scheduler::submit() ---+-> = -->  = -->  =   first "not equal" is reported
#pragma once

#include <cstdint>
#include <optional>
#include <tl/expected.hpp>

#include "forge/core/executor.h"
#include "forge/trace/trace_diff.h"
#include "forge/trace/trace_reader.h"

namespace forge::trace {

/// The first thing that differs: left is the trace, right is the replay.
struct ReplayDifference {
  StepId step;             ///< the step that differs, or the next one to come
  std::uint64_t line = 0;  ///< line of the trace
  Difference difference;
  std::string target_error;  ///< what the executor said if it failed at this step
};

struct ReplayReport {
  std::uint64_t steps = 0;   ///< steps that agreed
  std::uint64_t digest = 0;  ///< digest of these steps
  std::optional<ReplayDifference> difference;
};

/// `vocabulary_size` is the target's: a trace whose prompts name other tokens is refused before
/// the target sees them.
/// Requires: `executor` is fresh and built from the header's `target`.
/// Errors: the trace cannot be read, or names tokens outside the vocabulary.
tl::expected<ReplayReport, TraceError> replay(TraceReader& trace, Executor& executor,
                                              std::uint32_t vocabulary_size);

/// The same for the policy alone, which needs no target: the plans are decided anew, and the
/// recorded results committed once they are known to answer them. For traces whose tokens are
/// veiled. Errors: the trace cannot be read, or contradicts itself.
tl::expected<ReplayReport, TraceError> replay_plans(TraceReader& trace);

}  // namespace forge::trace
