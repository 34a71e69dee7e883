#include "forge/executor/step_slices.h"

#include <algorithm>

#include "forge/executor/drafter.h"

namespace forge::executor {

void StepSlices::begin(const StepPlan& plan, SequenceTable& sequences, Drafter& drafter) {
  step_ = plan.step;
  most_drafts_ = 0;
  pick_count_ = 0;
  slices_.clear();
  passes_.clear();
  runs_.clear();
  std::uint32_t draft_count = 0;
  auto delta = plan.tables.begin();  // in slice order
  for (const Slice& slice : plan.slices) {
    SequenceTable::Sequence& sequence = sequences.checked(plan.step, slice);
    auto kept = static_cast<std::uint32_t>(sequence.blocks.size());
    if (delta != plan.tables.end() && delta->seq == slice.seq) kept = (delta++)->truncated_to;
    slices_.push_back({slice, &sequence, kept, draft_count, pick_count_});
    most_drafts_ = std::max(most_drafts_, slice.drafts);
    draft_count += slice.drafts;
    pick_count_ += slice.samples ? slice.drafts + 1 : 0;
  }
  drafts_.assign(draft_count, TokenId());

  drafter.propose(plan, *this);
  add_pass({});
  for (const StepSlice& slice : slices_) {
    const std::uint32_t end = slice.known_end() + slice.slice.drafts;
    add_run({&slice, slice.slice.first, end, slice.slice.samples ? slice.known_end() - 1 : end});
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
