#include "step_work.h"

namespace forge::apps {
namespace {

/// Keys that the rows [first, first + count) read: first + 1, first + 2, ...
std::uint64_t keys_of(const Slice& slice) {
  const std::uint64_t count = slice.count;
  return count * slice.first + count * (count + 1) / 2;
}

}  // namespace

StepKind StepWork::kind() const {
  if (decodes == 0) return StepKind::prefill;
  return prompt_rows == 0 ? StepKind::decode : StepKind::mixed;
}

std::optional<StepWork> work_of(const StepPlan& plan) {
  if (plan.slices.empty()) return std::nullopt;
  StepWork work{.decodes = plan.decodes, .blocks_copied = plan.copies.size()};
  for (const Slice& slice : plan.slices) {
    work.drafts += slice.drafts;
    if (slice.samples) work.logit_rows += slice.drafts + 1;
  }
  for (const Slice& slice : plan.decode_batch()) work.decode_keys += keys_of(slice);
  for (const Slice& slice : plan.prefill_batch()) {
    work.prompt_rows += slice.count - slice.drafts;
    work.prompt_keys += keys_of(slice);
  }
  return work;
}

}  // namespace forge::apps
