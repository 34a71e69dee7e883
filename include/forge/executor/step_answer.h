// StepAnswer: what a verdict on a slice's drafts means for its sequence, for the result of the step
// and for the statistics. This is the last act of a step, the same for all targets.
//
// Owns the statistics. Thread contract: none of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/acceptance.h"
#include "forge/core/executor.h"
#include "forge/core/step_plan.h"
#include "forge/executor/drafter.h"
#include "forge/executor/executor_options.h"
#include "forge/executor/step_slices.h"

namespace forge::executor {

class StepAnswer {
 public:
  /// Borrows the drafter.
  StepAnswer(const ExecutorOptions& options, Drafter& drafter)
      : drafter_(drafter), drafts_most_(options.drafts), eos_(options.eos) {}

  /// Does `token` end the sequence?
  bool ends(const SequenceTable::Sequence& sequence, TokenId token) const {
    return !sequence.request.ignore_eos && std::find(eos_.begin(), eos_.end(), token) != eos_.end();
  }

  /// Answers a slice: its sequence grows by what the verdict keeps, as does `result`, to which
  /// the SliceResult is appended too. A slice that does not sample has an empty verdict; one that
  /// samples and has it ends with what its grammar says of its first row, or not_finite.
  /// Returns the number of tokens that it yields. Their logits are the first ones of the slice.
  std::uint32_t accept(const StepSlices& step, const StepSlice& slice, const Verification& verdict,
                       StepResult& result);

  /// Gives a new sequence the run that it has behind it. Errors: those of Executor::resume.
  tl::expected<void, std::string> resume(SequenceTable::Sequence& sequence, const PastRun& past);

  const SpeculationStatistics& speculation() const { return speculation_; }

 private:
  FinishSignal signal_of(const StepSlices& step, const StepSlice& slice,
                         std::span<const TokenId> tokens) const;

  Drafter& drafter_;
  std::uint32_t drafts_most_;
  std::vector<TokenId> eos_;
  SpeculationStatistics speculation_;
};

}  // namespace forge::executor
