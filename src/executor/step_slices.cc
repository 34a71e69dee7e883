#include "forge/executor/step_slices.h"

#include <algorithm>

#include "forge/core/check.h"
#include "forge/executor/drafter.h"

namespace forge::executor {

namespace {

/// The rows of a slice whose logits are wanted though nothing is picked from them: all but the last
/// known one, as long as some of the tokens after them are of the prompt.
std::uint32_t told_rows(const Slice& slice, const SequenceTable::Sequence& sequence) {
  const Request& request = sequence.request;
  if (!request.sampling.prompt_logprobs || slice.first + 1 >= request.prompt.size()) return 0;
  return slice.count - slice.drafts - (slice.samples ? 1 : 0);
}

}  // namespace

void StepSlices::begin(const StepPlan& plan, SequenceTable& sequences, Drafter& drafter) {
  step_ = plan.step;
  most_drafts_ = 0;
  pick_count_ = 0;
  logits_count_ = 0;
  slices_.clear();
  passes_.clear();
  runs_.clear();
  std::uint32_t draft_count = 0;
  auto delta = plan.tables.begin();  // in slice order
  for (const Slice& slice : plan.slices) {
    SequenceTable::Sequence& sequence = sequences.checked(plan.step, slice);
    auto kept = static_cast<std::uint32_t>(sequence.blocks.size());
    if (delta != plan.tables.end() && delta->seq == slice.seq) kept = (delta++)->truncated_to;
    const std::uint32_t told = told_rows(slice, sequence);
    const std::uint32_t picks = slice.samples ? slice.drafts + 1 : 0;
    slices_.push_back({slice, &sequence, kept, draft_count, pick_count_, logits_count_, told});
    most_drafts_ = std::max(most_drafts_, slice.drafts);
    draft_count += slice.drafts;
    pick_count_ += picks;
    logits_count_ += told + picks;
  }
  drafts_.assign(draft_count, TokenId());

  drafter.propose(plan, *this);
  make_masks();
  add_pass({});
  for (const StepSlice& slice : slices_) {
    const std::uint32_t end = slice.known_end() + slice.slice.drafts;
    const std::uint32_t picked_from = slice.slice.samples ? slice.known_end() - 1 : end;
    add_run({&slice, slice.slice.first, end, picked_from - slice.told});
  }
}

/// Requires: the passes so far are those that propose.
void StepSlices::make_masks() {
  masks_.begin(pick_count_);
  for (const StepSlice& slice : slices_) {
    if (!slice.sequence->output || !slice.slice.samples) continue;
    const bool drafts_known = slice.slice.drafts == 0 || passes_.empty();
    FORGE_CHECK(drafts_known, "sequence ", slice.slice.seq.value, ": ", slice.slice.drafts,
                " drafts, which its grammar does not know before a pass proposes them");
    masks_.add(*slice.sequence->output, drafts(slice), slice.first_pick);
  }
}

void StepSlices::add_pass(const Pass& pass) {
  passes_.push_back(pass);
  passes_.back().first_run = static_cast<std::uint32_t>(runs_.size());
}

void StepSlices::add_run(const RowRun& run) {
  runs_.push_back(run);
  ++passes_.back().run_count;
}

}  // namespace forge::executor
