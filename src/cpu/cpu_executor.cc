#include "forge/cpu/cpu_executor.h"

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

}  // namespace

CpuExecutor::CpuExecutor(const ExecutorOptions& options)
    : options_(checked(options)),
      model_(options.model),
      pool_(options.model, options.num_blocks, options.block_size),
      host_pool_(options.model, options.num_host_blocks, options.block_size),
      sequences_(options.num_blocks, options.block_size),
      batch_(model_),
      guard_(options),
      answer_(options) {}

void CpuExecutor::begin(SeqId seq, const Request& request) { sequences_.begin(seq, request); }

tl::expected<void, ExecutionError> CpuExecutor::execute(const StepPlan& plan, StepResult& result) {
  sequences_.apply(plan);
  for (const BlockCopy& copied : plan.copies) copy(copied);
  guard_.copy(plan);
  step_.begin(plan, sequences_);

  if (options_.rule == AcceptanceRule::rejection) {
    draft_rows_.resize(step_.draft_count() *
                       static_cast<std::size_t>(options_.model.vocabulary_size));
  }
  for (std::uint32_t pass = 0; pass < step_.draft_passes(); ++pass) propose(pass);
  run(step_.draft_passes());

  result.clear();
  result.step = plan.step;
  for (const StepSlice& slice : step_.all()) {
    const Verification verdict = slice.slice.samples ? judge(slice) : Verification();
    const std::uint32_t tokens = answer_.accept(step_, slice, verdict, result);
    if (!options_.digest_logits) continue;
    for (std::uint32_t i = 0; i < tokens; ++i) {
      result.logits.push_back(logits_digest(batch_.logits(slice.first_pick + i)));
    }
  }
  return {};
}

void CpuExecutor::copy(const BlockCopy& copy) {
  const KvPool& source = copy.kind == CopyKind::swap_in ? host_pool_ : pool_;
  KvPool& target = copy.kind == CopyKind::swap_out ? host_pool_ : pool_;
  target.copy(source, copy.from.value, copy.to.value);
}

/// Runs the rows of all slices in one pass (step_slices.h).
void CpuExecutor::run(std::uint32_t pass) {
  guard_.run(step_, pass);
  batch_.clear();
  for (const StepSlice& slice : step_.all()) {
    const SliceRows rows = step_.rows(slice, pass);
    if (rows.count() == 0) continue;
    batch_.add_sequence(slice.sequence->blocks);
    for (std::uint32_t position = rows.first; position < rows.end; ++position) {
      batch_.add_row(step_.token(slice, position), position, position >= rows.first_logits);
    }
  }
  batch_.run(pool_, pass < step_.draft_passes() ? options_.draft_layers : options_.model.layers);
}

/// The draft model's next token for every slice that has more than `pass` drafts.
void CpuExecutor::propose(std::uint32_t pass) {
  run(pass);
  std::size_t row = 0;
  for (const StepSlice& slice : step_.all()) {
    if (slice.slice.drafts <= pass) continue;
    const std::size_t draft = slice.first_draft + pass;
    step_.drafts()[draft] = choose_draft(slice.sequence->request, batch_.logits(row++),
                                         slice.known_end() + pass, draft);
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

Verification CpuExecutor::judge(const StepSlice& slice) {
  const SamplingParams& sampling = slice.sequence->request.sampling;
  const auto ends = [&](TokenId token) { return answer_.ends(*slice.sequence, token); };
  const std::span<const TokenId> drafts = step_.drafts(slice);
  const std::uint64_t position = slice.known_end();
  if (options_.rule == AcceptanceRule::shared_noise) {
    const auto own_pick = [&](std::uint32_t i) {
      return pick(batch_.logits(slice.first_pick + i), sampling, position + i);
    };
    return verify_by_picks(drafts, own_pick, ends);
  }
  const auto vocabulary = static_cast<std::size_t>(options_.model.vocabulary_size);
  target_rows_.resize((drafts.size() + 1) * vocabulary);
  for (std::size_t i = 0; i <= drafts.size(); ++i) {
    probabilities(batch_.logits(slice.first_pick + i), sampling.temperature,
                  std::span(target_rows_).subspan(i * vocabulary, vocabulary));
  }
  const auto draw = [&](std::uint32_t i, DrawStream stream) {
    return uniform(sampling.seed, position + i, stream);
  };
  const auto draft_rows =
      std::span<const double>(draft_rows_).subspan(slice.first_draft * vocabulary);
  return verify_by_rejection<double>(drafts, {target_rows_, vocabulary}, {draft_rows, vocabulary},
                                     draw, ends);
}

}  // namespace forge
