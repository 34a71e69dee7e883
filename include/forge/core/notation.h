// notation: the parts of a plan as words, the same in tests, tools and book. `forge-trace legend`
// explains them all.
//
//   row        0 | +1 +2@8 | [1>4] | 1:0+0,1 2:2+4 | 2:8+1 1:0+2*
//   which is   step | queue | copies, if there are any | tables | slices
//
// queue    `+1` admitted, `^1` resumed; `+1@8` with the KV of 8 tokens; `-1` preempted, `-1~` with
//          its KV going to the host; `!1` finished
// copies   `[1>4]` block 1 to block 4; `[1>h0]` to host block 0, `[h0>1]` from it
// tables   `1:2+5,6` keeps 2 blocks, then has blocks 5 and 6
// slices   `1:4+3` three tokens from token 4 on (the first one is 0), `1:4+3/2` two of them drafts;
//          `*` fills the cache from a prompt, or again after a preemption, and reaches its end;
//          `>` goes so far and no further, and yields no token
#pragma once

#include <string>
#include <vector>

#include "forge/core/step_plan.h"

namespace forge {

using PlanWords = std::vector<std::string>;

PlanWords admission_words(const std::vector<Admission>& admissions);  ///< without the sign
PlanWords preemption_words(const StepPlan& plan);                     ///< without the sign
PlanWords copy_words(const StepPlan& plan);
PlanWords table_words(const StepPlan& plan);
PlanWords slice_words(const StepPlan& plan);

/// A plan on one line, without a newline.
std::string plan_row(const StepPlan& plan);

}  // namespace forge
