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
  kv_lost = false;
}

void fail_step(const StepPlan& plan, StepResult& result) {
  result.clear();
  result.step = plan.step;
  for (const Slice& slice : plan.slices) {
    result.slices.push_back({.seq = slice.seq, .signal = FinishSignal::error});
  }
}

void lose_step(const StepPlan& plan, StepResult& result) {
  result.clear();
  result.step = plan.step;
  for (const Slice& slice : plan.slices) result.slices.push_back({.seq = slice.seq});
  result.kv_lost = true;
}

StepPlan bookkeeping_of(const StepPlan& plan) {
  StepPlan books;
  books.step = plan.step;
  books.admitted = plan.admitted;
  books.resumed = plan.resumed;
  books.preempted = plan.preempted;
  books.finished = plan.finished;
  for (const BlockCopy& copy : plan.copies) {
    if (copy.kind == CopyKind::swap_out) books.copies.push_back(copy);
  }
  return books;
}

}  // namespace forge
