#include "forge/core/step_plan.h"

namespace forge {

void StepPlan::clear() {
  admitted.clear();
  resumed.clear();
  preempted.clear();
  finished.clear();
  copies.clear();
  tables.clear();
  appended_blocks.clear();
  slices.clear();
  decodes = 0;
}

void StepResult::clear() {
  slices.clear();
  tokens.clear();
  logits.clear();
  reports.clear();
  likely.clear();
}

void fail_step(const StepPlan& plan, StepResult& result) {
  result.clear();
  result.step = plan.step;
  for (const Slice& slice : plan.slices) {
    result.slices.push_back({.seq = slice.seq, .signal = FinishSignal::error});
  }
}

}  // namespace forge
