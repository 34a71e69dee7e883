// StepSlices: a step as the passes that models make over it. It says which rows each pass runs, and
// where the tokens go that are picked from its logits, as a value, before anything runs.
//
// A row is a token at a position. A step ends with one pass of the model over everything, which
// verifies the drafts. The passes before it propose them, as the drafter says (drafter.h). For a
// slice of 4 known tokens and 3 drafts, where the first layers of the model draft:
//
//   position             10 11 12 13 | 14 15 16      first 10, count 7, drafts 3
//   token                 k  k  k  k | d0 d1 d2
//   pass 0 (proposes)     r  r  r  L |               r: a row, L: a row whose logits are wanted
//   pass 1 (proposes)                |  L
//   pass 2 (proposes)                |     L
//   pass 3 (verifies)     r  r  r  L |  L  L  L      logits of 13 .. 16: the verdict
//
// The token picked from the logits of a position is that of the next position: a draft in a pass
// that proposes, the model's own in the one that verifies.
//
// Drafts, and picks and logits of the pass that verifies, are numbered over the whole step, in
// slice order: first_draft, first_pick and first_logits say where those of a slice begin. Logits
// are more than picks where a request wants to know the log-probabilities of its prompt
// (prompt_logprobs): then all rows of its slices have logits, the first `told` of them only for
// that.
//
// Borrows the sequences from begin() until the next. Thread contract: none of its own. Once the
// largest step has been seen, no call allocates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "forge/core/step_plan.h"
#include "forge/executor/sequence_table.h"
#include "forge/executor/step_masks.h"

namespace forge::executor {

class Drafter;

struct StepSlice {
  Slice slice;
  SequenceTable::Sequence* sequence = nullptr;
  std::uint32_t kept_blocks = 0;  ///< leading blocks of its table that are not new
  std::uint32_t first_draft = 0;
  std::uint32_t first_pick = 0;
  std::uint32_t first_logits = 0;
  std::uint32_t told = 0;  ///< leading rows of these from which nothing is picked

  /// The position of the first token that is not known yet, that is, of the first draft.
  std::uint32_t known_end() const { return slice.first + slice.count - slice.drafts; }
  /// The index of the token at `position` among the slice's drafts.
  std::uint32_t draft_of(std::uint32_t position) const { return position - known_end(); }
};

/// The model that makes a pass: the one that is asked for, or the draft model. Each has a KV pool
/// of its own; both use the same block tables.
enum class PassModel : std::uint8_t { model, draft };
inline constexpr std::size_t kPassModels = 2;

/// A run of one model over rows of the step's slices, all of them at once.
struct Pass {
  PassModel model = PassModel::model;
  std::optional<int> layers;  ///< the first so many, then the head; nullopt: all layers
  /// The number of tokens that the model knows; nullopt: it knows all. Others are run as its last
  /// one.
  std::optional<std::uint32_t> vocabulary;
  bool proposes = false;  ///< its logits yield drafts; else they yield the verdict
  std::uint32_t first_run = 0;
  std::uint32_t run_count = 0;
};

/// Rows of one slice in a pass: positions [first, end), with logits from first_logits on.
struct RowRun {
  const StepSlice* slice = nullptr;
  std::uint32_t first = 0;
  std::uint32_t end = 0;
  std::uint32_t first_logits = 0;

  std::uint32_t count() const { return end - first; }
  std::uint32_t logits_count() const { return end - first_logits; }
};

class StepSlices {
 public:
  /// Takes in the plan's slices, and makes the masks of those whose requests have a grammar. The
  /// passes are those of `drafter`, then the one that verifies.
  /// Requires: `sequences` has applied the plan; each slice fits (SequenceTable::checked).
  void begin(const StepPlan& plan, SequenceTable& sequences, Drafter& drafter);

  StepId step() const { return step_; }
  std::span<const StepSlice> all() const { return slices_; }

  /// The passes, in the order in which they run.
  std::span<const Pass> passes() const { return passes_; }
  /// The runs of `pass`, in the order in which it writes KV: no row reads what a later one writes.
  std::span<const RowRun> runs(const Pass& pass) const {
    return std::span(runs_).subspan(pass.first_run, pass.run_count);
  }

  std::uint32_t most_drafts() const { return most_drafts_; }  ///< the most of any slice
  std::uint32_t pick_count() const { return pick_count_; }
  std::uint32_t logits_count() const { return logits_count_; }  ///< of the pass that verifies
  std::uint32_t draft_count() const { return static_cast<std::uint32_t>(drafts_.size()); }

  /// Whether a pass proposes the drafts, so that they are not known before it has run.
  bool passes_propose() const { return passes_.front().proposes; }

  /// The token that a pass runs at a position of `slice`, known or draft. Requires: the draft has
  /// been set.
  TokenId token(const Pass& pass, const StepSlice& slice, std::uint32_t position) const {
    const TokenId token = position < slice.known_end()
                              ? slice.sequence->tokens[position]
                              : drafts_[slice.first_draft + slice.draft_of(position)];
    return pass.vocabulary ? std::min(token, TokenId(*pass.vocabulary - 1)) : token;
  }

  /// The drafts of all slices; the executor writes them as passes propose them.
  std::span<TokenId> drafts() { return drafts_; }
  std::span<const TokenId> drafts(const StepSlice& slice) const {
    return std::span(drafts_).subspan(slice.first_draft, slice.slice.drafts);
  }

  /// What grammars say of the picks.
  const StepMasks& masks() const { return masks_; }

  // Drafters call the following.

  /// Adds a pass after those before it; add_run() then adds its runs.
  void add_pass(const Pass& pass);
  /// Requires: run.slice is one of all().
  void add_run(const RowRun& run);

 private:
  void make_masks();

  StepId step_;
  std::uint32_t most_drafts_ = 0;
  std::uint32_t pick_count_ = 0;
  std::uint32_t logits_count_ = 0;
  std::vector<StepSlice> slices_;
  std::vector<Pass> passes_;
  std::vector<RowRun> runs_;
  std::vector<TokenId> drafts_;
  StepMasks masks_;
};

}  // namespace forge::executor
