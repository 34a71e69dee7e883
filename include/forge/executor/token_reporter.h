// TokenReporter: what requests want to be told of their tokens (TokenReport in core/step_plan.h),
// from the rows of logits of a step; the same for all executors.
//
// Tokens of the prompt are told once: a prompt that runs again after a preemption is not told
// again.
//
// Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "forge/core/acceptance.h"
#include "forge/executor/step_slices.h"
#include "forge/sampling/pipeline.h"

namespace forge::executor {

/// Whether the request of a slice wants to be told anything of the tokens after its rows with
/// logits.
bool is_told(const StepSlice& slice);

class TokenReporter {
 public:
  /// The row of logits of this number in the step (StepSlice::first_logits).
  using LogitsOf = std::function<std::span<const float>(std::uint32_t)>;

  /// Appends the reports on a slice with this verdict. Requires: is_told(slice); the verdict is not
  /// yet part of the sequence; `logits_of` has the slice's rows.
  void report(const StepSlices& step, const StepSlice& slice, const Verification& verdict,
              const LogitsOf& logits_of, StepResult& result);

 private:
  sampling::Pipeline pipeline_;
};

}  // namespace forge::executor
