#include "forge/executor/step_slices.h"

#include <algorithm>

namespace forge::executor {

void StepSlices::begin(const StepPlan& plan, SequenceTable& sequences) {
  step_ = plan.step;
  draft_passes_ = 0;
  pick_count_ = 0;
  slices_.clear();
  std::uint32_t draft_count = 0;
  for (const Slice& slice : plan.slices) {
    slices_.push_back({slice, &sequences.checked(plan.step, slice), draft_count, pick_count_});
    draft_passes_ = std::max(draft_passes_, slice.drafts);
    draft_count += slice.drafts;
    pick_count_ += slice.samples ? slice.drafts + 1 : 0;
  }
  drafts_.assign(draft_count, TokenId());
}

SliceRows StepSlices::rows(const StepSlice& slice, std::uint32_t pass) const {
  const std::uint32_t known_end = slice.known_end();
  if (pass == draft_passes_) {
    const std::uint32_t end = known_end + slice.slice.drafts;
    return {slice.slice.first, end, slice.slice.samples ? known_end - 1 : end};
  }
  if (slice.slice.drafts <= pass) return {};
  const std::uint32_t end = known_end + pass;
  return {pass == 0 ? slice.slice.first : end - 1, end, end - 1};
}

}  // namespace forge::executor
