#include "forge/cpu/cpu_executor.h"

#include <algorithm>

#include "forge/core/check.h"
#include "forge/sampling/sampler.h"
#include "forge/target/logits_digest.h"

namespace forge {
namespace {

const ExecutorOptions& checked(const ExecutorOptions& options) {
  const auto valid = validate(options);
  FORGE_CHECK(valid.has_value(), to_string(valid.error()));
  return options;
}

/// First position of `slice` whose token is not known yet: where its first draft goes.
std::uint32_t known_end(const Slice& slice) { return slice.first + slice.count - slice.drafts; }

}  // namespace

CpuExecutor::CpuExecutor(const ExecutorOptions& options)
    : options_(checked(options)),
      model_(options.model),
      pool_(options.model, options.num_blocks, options.block_size),
      host_pool_(options.model, options.num_host_blocks, options.block_size),
      sequences_(options.num_blocks, options.block_size),
      batch_(model_) {
  if (options.check_kv) {
    provenance_.emplace(options.num_blocks, options.num_host_blocks, options.block_size,
                        options.model.layers);
  }
}

void CpuExecutor::begin(SeqId seq, const Request& request) { sequences_.begin(seq, request); }

tl::expected<void, ExecutionError> CpuExecutor::execute(const StepPlan& plan, StepResult& result) {
  sequences_.apply(plan);
  for (const BlockCopy& copied : plan.copies) copy(copied);
  slice_sequences_.clear();
  for (const Slice& slice : plan.slices) {
    slice_sequences_.push_back(&sequences_.checked(plan.step, slice));
  }

  propose(plan);
  forward(plan);

  result.clear();
  result.step = plan.step;
  std::size_t first_draft = 0;
  std::size_t first_row = 0;
  for (const Slice& slice : plan.slices) {
    result.slices.push_back(accept(slice, first_draft, first_row, result));
    first_draft += slice.drafts;
    if (slice.samples) first_row += slice.drafts + 1;
  }
  return {};
}

void CpuExecutor::copy(const BlockCopy& copy) {
  const KvPool& source = copy.kind == CopyKind::swap_in ? host_pool_ : pool_;
  KvPool& target = copy.kind == CopyKind::swap_out ? host_pool_ : pool_;
  target.copy(source, copy.from.value, copy.to.value);
  if (provenance_) provenance_->copy(copy);
}

/// The rows added next are those of the tokens of `sequence` from `first` on, `drafts` last.
void CpuExecutor::begin_rows(const Slice& slice, const Sequence& sequence,
                             std::span<const TokenId> drafts, std::uint32_t first) {
  batch_.add_sequence(sequence.blocks);
  if (!provenance_) return;
  passes_.push_back({.seq = slice.seq,
                     .blocks = sequence.blocks,
                     .known = std::span(sequence.tokens).first(known_end(slice)),
                     .drafts = drafts,
                     .computed = slice.first,
                     .first = first});
}

/// Runs the rows through the first `layers` layers.
void CpuExecutor::run_rows(StepId step, int layers) {
  if (provenance_) {
    const auto checked = provenance_->run(step, layers, passes_);
    FORGE_CHECK(checked.has_value(), to_string(checked.error()));
    passes_.clear();
  }
  batch_.run(pool_, layers);
}

/// Fills drafts_ (and, for rejection, draft_rows_) for all slices.
void CpuExecutor::propose(const StepPlan& plan) {
  std::uint32_t rounds = 0;
  std::size_t total = 0;
  for (const Slice& slice : plan.slices) {
    rounds = std::max(rounds, slice.drafts);
    total += slice.drafts;
  }
  drafts_.resize(total);
  if (options_.rule == AcceptanceRule::rejection) {
    const auto vocabulary = static_cast<std::size_t>(options_.model.vocabulary_size);
    draft_rows_.resize(total * vocabulary);
  }
  for (std::uint32_t round = 0; round < rounds; ++round) propose_round(plan, round);
}

/// The draft model's next token, for every slice that has more than `round` drafts. The
/// first round runs the slice's known tokens, later ones the draft before.
void CpuExecutor::propose_round(const StepPlan& plan, std::uint32_t round) {
  batch_.clear();
  std::size_t first_draft = 0;
  for (std::size_t i = 0; i < plan.slices.size(); first_draft += plan.slices[i++].drafts) {
    const Slice& slice = plan.slices[i];
    if (slice.drafts <= round) continue;
    const std::uint32_t end = known_end(slice);
    begin_rows(slice, *slice_sequences_[i], std::span(drafts_).subspan(first_draft, round),
               round == 0 ? slice.first : end + round - 1);
    if (round > 0) {
      batch_.add_row(drafts_[first_draft + round - 1], end + round - 1, true);
      continue;
    }
    for (std::uint32_t position = slice.first; position < end; ++position) {
      batch_.add_row(slice_sequences_[i]->tokens[position], position, position + 1 == end);
    }
  }
  run_rows(plan.step, options_.draft_layers);

  first_draft = 0;
  std::size_t row = 0;
  for (std::size_t i = 0; i < plan.slices.size(); first_draft += plan.slices[i++].drafts) {
    const Slice& slice = plan.slices[i];
    if (slice.drafts <= round) continue;
    drafts_[first_draft + round] = choose_draft(slice_sequences_[i]->request, batch_.logits(row++),
                                                known_end(slice) + round, first_draft + round);
  }
}

TokenId CpuExecutor::choose_draft(const Request& request, std::span<const float> logits,
                                  std::uint64_t position, std::size_t draft_index) {
  if (options_.rule == AcceptanceRule::shared_noise) {
    return pick(logits, request.sampling, position);
  }
  const auto q = std::span(draft_rows_).subspan(draft_index * logits.size(), logits.size());
  probabilities(logits, request.sampling.temperature, q);
  return draw_from<double>(q, uniform(request.sampling.seed, position, DrawStream::draft));
}

/// The target's pass over all slices. Logits are kept of the last known token of each sampling
/// slice and of its drafts.
void CpuExecutor::forward(const StepPlan& plan) {
  batch_.clear();
  std::size_t next_draft = 0;
  for (std::size_t i = 0; i < plan.slices.size(); ++i) {
    const Slice& slice = plan.slices[i];
    const std::uint32_t end = known_end(slice);
    begin_rows(slice, *slice_sequences_[i], std::span(drafts_).subspan(next_draft, slice.drafts),
               slice.first);
    for (std::uint32_t position = slice.first; position < end; ++position) {
      const bool wants_logits = slice.samples && position + 1 == end;
      batch_.add_row(slice_sequences_[i]->tokens[position], position, wants_logits);
    }
    for (std::uint32_t k = 0; k < slice.drafts; ++k) {
      batch_.add_row(drafts_[next_draft++], end + k, true);
    }
  }
  run_rows(plan.step, options_.model.layers);
}

SliceResult CpuExecutor::accept(const Slice& slice, std::size_t first_draft, std::size_t first_row,
                                StepResult& result) {
  Sequence& sequence = *slice_sequences_[result.slices.size()];
  SliceResult out{.seq = slice.seq,
                  .first_token = static_cast<std::uint32_t>(result.tokens.size())};
  sequence.valid = known_end(slice);
  if (!slice.samples) return out;

  const Verification verdict = judge(slice, sequence, first_draft, first_row);
  sequence.valid += verdict.accepted;
  for (std::uint32_t i = 0; i < verdict.accepted; ++i) {
    sequence.tokens.push_back(drafts_[first_draft + i]);
  }
  if (verdict.own) sequence.tokens.push_back(*verdict.own);
  out.token_count = verdict.accepted + (verdict.own ? 1 : 0);
  for (std::uint32_t i = 0; i < out.token_count; ++i) {
    result.tokens.push_back(sequence.tokens[known_end(slice) + i]);
    if (options_.digest_logits) {
      result.logits.push_back(logits_digest(batch_.logits(first_row + i)));
    }
  }
  if (slice.drafts > 0) {
    speculation_.rounds += 1;
    speculation_.proposed += slice.drafts;
    speculation_.accepted += verdict.accepted;
    speculation_.emitted += out.token_count;
  }
  const bool ended = !sequence.request.ignore_eos && result.tokens.back() == options_.eos;
  out.signal = ended ? FinishSignal::eos : FinishSignal::none;
  out.drafts = ended ? 0 : options_.drafts;
  return out;
}

Verification CpuExecutor::judge(const Slice& slice, const Sequence& sequence,
                                std::size_t first_draft, std::size_t first_row) {
  const SamplingParams& sampling = sequence.request.sampling;
  const auto ends = [&](TokenId token) {
    return token == options_.eos && !sequence.request.ignore_eos;
  };
  const auto drafts = std::span<const TokenId>(drafts_).subspan(first_draft, slice.drafts);
  const std::uint64_t position = known_end(slice);
  if (options_.rule == AcceptanceRule::shared_noise) {
    const auto own_pick = [&](std::uint32_t i) {
      return pick(batch_.logits(first_row + i), sampling, position + i);
    };
    return verify_by_picks(drafts, own_pick, ends);
  }
  const auto vocabulary = static_cast<std::size_t>(options_.model.vocabulary_size);
  target_rows_.resize((slice.drafts + std::size_t{1}) * vocabulary);
  for (std::size_t i = 0; i <= slice.drafts; ++i) {
    probabilities(batch_.logits(first_row + i), sampling.temperature,
                  std::span(target_rows_).subspan(i * vocabulary, vocabulary));
  }
  const auto draw = [&](std::uint32_t i, DrawStream stream) {
    return uniform(sampling.seed, position + i, stream);
  };
  const auto draft_rows = std::span<const double>(draft_rows_).subspan(first_draft * vocabulary);
  return verify_by_rejection<double>(drafts, {target_rows_, vocabulary}, {draft_rows, vocabulary},
                                     draw, ends);
}

}  // namespace forge
