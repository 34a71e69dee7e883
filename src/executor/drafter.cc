#include "forge/executor/drafter.h"

#include <algorithm>

namespace forge::executor {
namespace {

/// The rows that yield draft number `round` of `slice`: in round 0 all that is known.
RowRun rows_of_round(const StepSlice& slice, std::uint32_t round) {
  const std::uint32_t end = slice.known_end() + round;
  return {&slice, round == 0 ? slice.slice.first : end - 1, end, end - 1};
}

/// A pass of `kind` for each round from `first` on.
void add_rounds(const Pass& kind, std::uint32_t first, StepSlices& step) {
  for (std::uint32_t round = first; round < step.most_drafts(); ++round) {
    step.add_pass(kind);
    for (const StepSlice& slice : step.all()) {
      if (slice.slice.drafts > round) step.add_run(rows_of_round(slice, round));
    }
  }
}

}  // namespace

std::uint32_t Drafter::offer(SequenceTable::Sequence& sequence, std::uint32_t most) {
  return sequence.output ? 0 : most;
}

void Drafter::forget(const StepSlices& /*step*/) {}
void Drafter::lose_kv() {}

void LayerSkipDrafter::propose(const StepPlan& /*plan*/, StepSlices& step) {
  add_rounds({.model = PassModel::model, .layers = layers_, .proposes = true}, 0, step);
}

ModelDrafter::ModelDrafter(const ExecutorOptions& options, int vocabulary)
    : vocabulary_(static_cast<std::uint32_t>(vocabulary)),
      block_size_(options.cache.block_size),
      device_(options.cache.num_blocks),
      host_(options.cache.num_host_blocks) {}

void ModelDrafter::propose(const StepPlan& plan, StepSlices& step) {
  for (const BlockCopy& copied : plan.copies) copy(copied);
  const Pass pass{.model = PassModel::draft, .vocabulary = vocabulary_, .proposes = true};
  step.add_pass(pass);
  for (const StepSlice& slice : step.all()) {
    const std::uint32_t first = slice.slice.first;
    for (std::uint32_t block = slice.kept_blocks; block < first / block_size_; ++block) {
      catch_up(slice, (block + 1) * block_size_ - 1, step);
    }
    if (first > 0) catch_up(slice, first - 1, step);
  }
  for (const StepSlice& slice : step.all()) {
    RowRun known = rows_of_round(slice, 0);
    if (slice.slice.drafts == 0) known.first_logits = known.end;
    step.add_run(known);
    if (slice.slice.drafts == 0) continue;
    const std::uint32_t last = slice.known_end() + slice.slice.drafts - 1;
    device_[block_of(slice, last)] = last % block_size_;
  }
  add_rounds(pass, 1, step);
}

/// Adds the row at `position`, before the slice's own, if its slot may be lacking.
void ModelDrafter::catch_up(const StepSlice& slice, std::uint32_t position, StepSlices& step) {
  std::optional<std::uint32_t>& lacking = device_[block_of(slice, position)];
  if (lacking != position % block_size_) return;
  lacking.reset();
  step.add_run({&slice, position, position + 1, position + 1});
}

void ModelDrafter::copy(const BlockCopy& copy) {
  const Lacking& source = copy.kind == CopyKind::swap_in ? host_ : device_;
  Lacking& destination = copy.kind == CopyKind::swap_out ? host_ : device_;
  destination[copy.to.value] = source[copy.from.value];
}

/// The slots that were caught up lie before their slice's first token; nobody reads the others.
void ModelDrafter::forget(const StepSlices& step) {
  for (const RowRun& run : step.runs(step.passes().front())) {
    if (run.first >= run.slice->slice.first) continue;
    device_[block_of(*run.slice, run.first)] = run.first % block_size_;
  }
}

void ModelDrafter::lose_kv() {
  std::ranges::fill(device_, std::nullopt);
  std::ranges::fill(host_, std::nullopt);
}

std::uint32_t NgramDrafter::offer(SequenceTable::Sequence& sequence, std::uint32_t most) {
  sequence.ngrams.extend(sequence.tokens);
  return sequence.ngrams.next() ? most : 0;
}

void NgramDrafter::propose(const StepPlan& /*plan*/, StepSlices& step) {
  for (const StepSlice& slice : step.all()) {
    if (slice.slice.drafts == 0) continue;
    const std::span<const TokenId> text = slice.sequence->tokens;
    const std::size_t next = slice.sequence->ngrams.next().value_or(text.size() - 1);
    const std::span<TokenId> drafts = step.drafts().subspan(slice.first_draft, slice.slice.drafts);
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      const std::size_t from = next + i;
      drafts[i] = from < text.size() ? text[from] : drafts[from - text.size()];
    }
  }
}

std::unique_ptr<Drafter> make_drafter(const ExecutorOptions& options,
                                      std::optional<int> draft_vocabulary) {
  if (draft_vocabulary) return std::make_unique<ModelDrafter>(options, *draft_vocabulary);
  if (options.draft_source == DraftSource::ngram) return std::make_unique<NgramDrafter>();
  return std::make_unique<LayerSkipDrafter>(options.draft_layers);
}

}  // namespace forge::executor
