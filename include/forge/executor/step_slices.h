// StepSlices: the slices of the step at hand, each with its sequence, and the rows that each runs
// in every pass of the model.
//
// A step has one pass of the draft model for each round of drafts, then one of the target over
// everything. A row is a token at a position. For a slice of 4 known tokens and 3 drafts:
//
//   position           10 11 12 13 | 14 15 16      first 10, count 7, drafts 3
//   token               k  k  k  k | d0 d1 d2
//   pass 0 (draft)      r  r  r  L |               r: a row, L: a row whose logits are wanted
//   pass 1 (draft)                 |  L
//   pass 2 (draft)                 |     L
//   pass 3 (target)     r  r  r  L |  L  L  L      logits of 13 .. 16: the verdict
//
// The logits of pass i yield draft i. The draft model is the first layers of the target, so what it
// writes to the KV pool is written again, the same, by the target's pass.
//
// Drafts and logits of the target's pass are numbered over the whole step, in slice order:
// first_draft and first_pick say where those of a slice begin.
//
// Borrows the sequences from begin() until the next. Thread contract: none of its own. Once the
// largest step has been seen, no call allocates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forge/core/step_plan.h"
#include "forge/executor/sequence_table.h"

namespace forge::executor {

struct StepSlice {
  Slice slice;
  SequenceTable::Sequence* sequence = nullptr;
  std::uint32_t first_draft = 0;
  std::uint32_t first_pick = 0;

  /// Position of the first token that is not known yet: of the first draft.
  std::uint32_t known_end() const { return slice.first + slice.count - slice.drafts; }
};

/// The rows of a slice in one pass: positions [first, end), with logits from first_logits on.
struct SliceRows {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
  std::uint32_t first_logits = 0;

  std::uint32_t count() const { return end - first; }
  std::uint32_t logits_count() const { return end - first_logits; }
};

class StepSlices {
 public:
  /// Takes in the plan's slices. Requires: `sequences` has applied the plan; each slice fits
  /// (SequenceTable::checked).
  void begin(const StepPlan& plan, SequenceTable& sequences);

  std::span<const StepSlice> all() const { return slices_; }
  StepId step() const { return step_; }

  /// Passes 0 .. draft_passes() - 1 are the draft model's, pass draft_passes() is the target's.
  std::uint32_t draft_passes() const { return draft_passes_; }
  std::uint32_t pick_count() const { return pick_count_; }
  std::uint32_t draft_count() const { return static_cast<std::uint32_t>(drafts_.size()); }

  /// What `slice` runs in pass number `pass`; no rows if it is not part of it.
  SliceRows rows(const StepSlice& slice, std::uint32_t pass) const;

  /// The token at a position of `slice`, known or draft. Requires: the draft has been set.
  TokenId token(const StepSlice& slice, std::uint32_t position) const {
    const std::uint32_t end = slice.known_end();
    return position < end ? slice.sequence->tokens[position]
                          : drafts_[slice.first_draft + position - end];
  }

  /// The drafts of all slices; the target writes them as they are proposed.
  std::span<TokenId> drafts() { return drafts_; }
  std::span<const TokenId> drafts(const StepSlice& slice) const {
    return std::span(drafts_).subspan(slice.first_draft, slice.slice.drafts);
  }

 private:
  StepId step_;
  std::uint32_t draft_passes_ = 0;
  std::uint32_t pick_count_ = 0;
  std::vector<StepSlice> slices_;
  std::vector<TokenId> drafts_;
};

}  // namespace forge::executor
