// StepWork: what a step asks of a target, counted from its plan alone.
//
// A row is a token that runs. Its keys are those that it attends to: all positions of its sequence
// up to its own. So a plan says beforehand how many rows there will be, how many keys they read and
// for how many of them logits are computed; step_time_model.h makes a time of that.
#pragma once

#include <cstdint>
#include <optional>

#include "forge/core/names.h"
#include "forge/core/step_plan.h"

namespace forge::apps {

enum class StepKind : std::uint8_t {
  decode,   ///< all rows decode, drafts among them
  prefill,  ///< all rows are of prompts, or of sequences that come back after a preemption
  mixed,    ///< some of each
};
constexpr Names<StepKind> names_of(StepKind) { return {"decode", "prefill", "mixed"}; }

struct StepWork {
  std::uint64_t decodes = 0;      ///< sequences of StepPlan::decode_batch()
  std::uint64_t drafts = 0;       ///< rows of drafts, of any sequence
  std::uint64_t prompt_rows = 0;  ///< rows of StepPlan::prefill_batch(), without drafts
  std::uint64_t decode_keys = 0;  ///< keys that rows of decodes read, those of drafts included
  std::uint64_t prompt_keys = 0;  ///< keys that the other rows read
  std::uint64_t logit_rows = 0;   ///< rows from whose logits a token is picked
  std::uint64_t blocks_copied = 0;

  /// Requires: there are rows.
  StepKind kind() const;

  friend bool operator==(const StepWork&, const StepWork&) = default;
};

/// The work of a plan; nullopt if it runs nothing.
std::optional<StepWork> work_of(const StepPlan& plan);

}  // namespace forge::apps
