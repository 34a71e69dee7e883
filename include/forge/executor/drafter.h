// Drafter: what proposes the drafts of a step.
//
// Speculation guesses tokens and verifies all guesses in one pass of the model. A drafter decides
// where the guesses come from: it adds to a step the passes that propose (step_slices.h), or sets
// the drafts itself. Executors walk the passes of a step and know no drafter, so a new one is a
// class here and nothing else:
//
//   drafter           passes before the model's                     KV of drafts
//   LayerSkipDrafter  one a round: the first layers of the model    in the model's own slots; its
//                                                                   pass writes them again
//   ModelDrafter      one a round, or one: the draft model          in a pool of its own
//   NgramDrafter      none: propose() sets the drafts, from the     none
//                     tokens that the sequence has
//
// Round i proposes the i-th draft of every slice that has that many. Drafts change no token and no
// logit of the output, only the number of steps.
//
// Thread contract: none of its own. Once the largest step has been seen, no call allocates.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "forge/core/step_plan.h"
#include "forge/executor/executor_options.h"
#include "forge/executor/step_slices.h"

namespace forge::executor {

class Drafter {
 public:
  Drafter() = default;
  Drafter(const Drafter&) = delete;
  Drafter& operator=(const Drafter&) = delete;
  virtual ~Drafter() = default;

  /// Adds the passes that propose the drafts of `step`, or sets all of its drafts. Called once a
  /// step, in order. Requires: `step` has the slices of `plan` and no passes yet.
  virtual void propose(const StepPlan& plan, StepSlices& step) = 0;

  /// How many drafts, `most` at most, it has for the step after this one, in which `sequence` has
  /// got new tokens. Called for each sequence that has, if it goes on.
  ///
  /// Here it is all of them, but none for a sequence with a grammar: masks behind drafts are made
  /// before a pass could propose them (step_masks.h).
  virtual std::uint32_t offer(SequenceTable::Sequence& sequence, std::uint32_t most);

  /// Called when the step failed: it is unknown which of its passes have run.
  virtual void forget(const StepSlices& step);

  /// Called when all KV is gone.
  virtual void lose_kv();
};

/// The first layers of the model propose. What they write to the KV pool is written again, the same
/// and with all layers, by the pass that verifies.
/// Source: Zhang et al., "Draft & Verify: Lossless Large Language Model Acceleration via
/// Self-Speculative Decoding", ACL 2024.
class LayerSkipDrafter : public Drafter {
 public:
  /// Requires: 1 <= layers <= layers of the model.
  explicit LayerSkipDrafter(int layers) : layers_(layers) {}

  void propose(const StepPlan& plan, StepSlices& step) override;

 private:
  int layers_;
};

/// All layers of a smaller model, the draft model, propose. It needs KV wherever the model has it,
/// so its first pass of a step has the known rows of all slices, with drafts or without, and blocks
/// are copied and swapped in its pool as in the model's.
///
/// Invariant: before a step, the draft model has the KV of each token whose KV the model has, or
/// the slot is noted as one where it may be lacking. That is the slot of the last draft of a slice,
/// which the draft model never ran. If the model keeps that draft, the next sequence that reads the
/// slot first runs its row: the same sequence, or one that finds the block cached, or has it in
/// place of an equal one.
///
///   step 7   known | d0 d1 d2       rows  known, d0, d1: the slot of d2 is noted
///            all three are kept
///   step 8   known . . . . . | d0   rows  d2 and what is known since
///
/// Such rows are the first of their pass, so that they are there for all that read them.
///
/// The draft model's vocabulary may be smaller: models of one family differ in how far theirs is
/// padded. Tokens beyond it are run as its last one.
/// Source: Leviathan, Kalman, Matias, "Fast Inference from Transformers via Speculative Decoding",
/// ICML 2023.
class ModelDrafter : public Drafter {
 public:
  ModelDrafter(const ExecutorOptions& options, int vocabulary);

  void propose(const StepPlan& plan, StepSlices& step) override;
  void forget(const StepSlices& step) override;
  void lose_kv() override;

 private:
  /// [blocks] the slot of each block whose KV may be lacking.
  using Lacking = std::vector<std::optional<std::uint32_t>>;

  void copy(const BlockCopy& copy);
  void catch_up(const StepSlice& slice, std::uint32_t position, StepSlices& step);
  std::uint32_t block_of(const StepSlice& slice, std::uint32_t position) const {
    return slice.sequence->blocks[position / block_size_];
  }

  std::uint32_t vocabulary_;
  std::uint32_t block_size_;
  Lacking device_;
  Lacking host_;
};

/// The text proposes: what followed when it was like this before (ngram_index.h). A text that
/// repeats itself is foreseen for nothing but the rows that verify; one that does not has no
/// drafts. Where what followed ends with the text, it is followed by itself: a text of "ab" over
/// and over goes on like this. A sequence that was offered no drafts and runs some has its last
/// token there.
class NgramDrafter : public Drafter {
 public:
  void propose(const StepPlan& plan, StepSlices& step) override;
  std::uint32_t offer(SequenceTable::Sequence& sequence, std::uint32_t most) override;
};

/// Makes the drafter of `options`: a draft model with a vocabulary of `draft_vocabulary`, where the
/// executor has one, or that of options.draft_source.
std::unique_ptr<Drafter> make_drafter(const ExecutorOptions& options,
                                      std::optional<int> draft_vocabulary);

}  // namespace forge::executor
