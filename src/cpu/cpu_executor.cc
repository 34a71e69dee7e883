#include "forge/cpu/cpu_executor.h"

#include <algorithm>
#include <optional>
#include <utility>

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

const ExecutorOptions& checked(const ExecutorOptions& options, int layers) {
  const auto valid = validate(options, layers);
  FORGE_CHECK(valid.has_value(), to_string(valid.error()));
  return options;
}

CacheSize cache_size(const ExecutorOptions& options) {
  return {.num_blocks = options.num_blocks,
          .block_size = options.block_size,
          .num_host_blocks = options.num_host_blocks};
}

}  // namespace

CpuExecutor::CpuExecutor(const ExecutorOptions& options)
    : CpuExecutor(options, tiny_cpu_model(checked(options).model, cache_size(options))) {}

CpuExecutor::CpuExecutor(const ExecutorOptions& options, std::unique_ptr<CpuModel> model,
                         std::unique_ptr<CpuModel> draft)
    : options_(checked(options, model->layers())),
      model_(std::move(model)),
      draft_(std::move(draft)),
      sequences_(options.num_blocks, options.block_size),
      batch_(*model_),
      draft_batch_(draft_ ? *draft_ : *model_),
      guard_(options, model_->layers()),
      answer_(options) {
  FORGE_CHECK(!draft_ || draft_->vocabulary_size() <= model_->vocabulary_size(),
              "vocabulary of the draft=", draft_->vocabulary_size(),
              " of the model=", model_->vocabulary_size());
}

void CpuExecutor::begin(SeqId seq, const Request& request) { sequences_.begin(seq, request); }

tl::expected<void, ExecutionError> CpuExecutor::execute(const StepPlan& plan, StepResult& result) {
  sequences_.apply(plan);
  for (const BlockCopy& copied : plan.copies) {
    model_->copy(copied);
    if (draft_) draft_->copy(copied);
  }
  guard_.copy(plan);
  step_.begin(plan, sequences_);

  if (options_.rule == AcceptanceRule::rejection) {
    draft_rows_.resize(step_.draft_count() * static_cast<std::size_t>(model_->vocabulary_size()));
  }
  if (draft_ && step_.draft_passes() == 0) run_draft_model(0);
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
  batch_.run(pass < step_.draft_passes() ? options_.draft_layers : model_->layers());
}

/// Runs the rows of a draft pass on the draft model. Its KV must be there wherever the target's is,
/// so the first pass has the known rows of all slices, with drafts or without, and of each the row
/// before: where every draft of the last step was kept, the draft model has not seen the last one.
void CpuExecutor::run_draft_model(std::uint32_t pass) {
  draft_batch_.clear();
  for (const StepSlice& slice : step_.all()) {
    SliceRows rows = step_.rows(slice, pass);
    if (pass == 0) {
      rows.first = slice.slice.first - (slice.slice.first > 0 ? 1 : 0);
      rows.end = slice.known_end();
      rows.first_logits = rows.end - (slice.slice.drafts > 0 ? 1 : 0);
    }
    if (rows.count() == 0) continue;
    draft_batch_.add_sequence(slice.sequence->blocks);
    for (std::uint32_t position = rows.first; position < rows.end; ++position) {
      draft_batch_.add_row(step_.token(slice, position), position, position >= rows.first_logits);
    }
  }
  draft_batch_.run(draft_->layers());
}

/// The draft model's next token for every slice that has more than `pass` drafts.
void CpuExecutor::propose(std::uint32_t pass) {
  if (draft_) {
    run_draft_model(pass);
  } else {
    run(pass);
  }
  const RowBatch& batch = draft_ ? draft_batch_ : batch_;
  std::size_t row = 0;
  for (const StepSlice& slice : step_.all()) {
    if (slice.slice.drafts <= pass) continue;
    const std::size_t draft = slice.first_draft + pass;
    step_.drafts()[draft] =
        choose_draft(slice.sequence->request, batch.logits(row++), slice.known_end() + pass, draft);
  }
}

TokenId CpuExecutor::choose_draft(const Request& request, std::span<const float> logits,
                                  std::uint64_t position, std::size_t draft_index) {
  const bool finite = can_pick(logits);  // if not, any draft will do: the target decides
  if (options_.rule == AcceptanceRule::shared_noise) {
    return finite ? pick(logits, request.sampling, position) : TokenId(0);
  }
  const auto vocabulary = static_cast<std::size_t>(model_->vocabulary_size());
  const auto q = std::span(draft_rows_).subspan(draft_index * vocabulary, vocabulary);
  std::fill(q.begin(), q.end(), 0.0);
  if (finite) {
    probabilities(logits, request.sampling.temperature, q.first(logits.size()));
  } else {
    q.front() = 1.0;
  }
  return draw_from<double>(q, uniform(request.sampling.seed, position, DrawStream::draft));
}

Verification CpuExecutor::judge(const StepSlice& slice) {
  const SamplingParams& sampling = slice.sequence->request.sampling;
  const auto ends = [&](TokenId token) { return answer_.ends(*slice.sequence, token); };
  const std::span<const TokenId> drafts = step_.drafts(slice);
  const std::uint64_t position = slice.known_end();
  if (options_.rule == AcceptanceRule::shared_noise) {
    const auto own_pick = [&](std::uint32_t i) -> std::optional<TokenId> {
      const std::span<const float> logits = batch_.logits(slice.first_pick + i);
      if (!can_pick(logits)) return std::nullopt;
      return pick(logits, sampling, position + i);
    };
    return verify_by_picks(drafts, own_pick, ends);
  }
  return judge_by_rejection(slice);
}

/// Of rows after one that is not finite none counts; that one itself is as if it had one token, and
/// if the verdict comes to it, there is no token.
Verification CpuExecutor::judge_by_rejection(const StepSlice& slice) {
  const SamplingParams& sampling = slice.sequence->request.sampling;
  const std::span<const TokenId> drafts = step_.drafts(slice);
  const auto vocabulary = static_cast<std::size_t>(model_->vocabulary_size());
  target_rows_.resize((drafts.size() + 1) * vocabulary);
  std::uint32_t finite = 0;  // rows, from the first
  for (; finite <= drafts.size(); ++finite) {
    const std::span<const float> logits = batch_.logits(slice.first_pick + finite);
    const auto row = std::span(target_rows_).subspan(finite * vocabulary, vocabulary);
    if (!can_pick(logits)) {
      std::fill(row.begin(), row.end(), 0.0);
      row.front() = 1.0;
      break;
    }
    probabilities(logits, sampling.temperature, row);
  }
  const auto draw = [&](std::uint32_t i, DrawStream stream) {
    return uniform(sampling.seed, slice.known_end() + std::uint64_t{i}, stream);
  };
  const auto ends = [&](TokenId token) { return answer_.ends(*slice.sequence, token); };
  const auto draft_rows =
      std::span<const double>(draft_rows_).subspan(slice.first_draft * vocabulary);
  const auto judged = drafts.first(std::min<std::size_t>(finite, drafts.size()));
  const Verification verdict = verify_by_rejection<double>(judged, {target_rows_, vocabulary},
                                                           {draft_rows, vocabulary}, draw, ends);
  const bool meets_it = finite <= drafts.size() && verdict.accepted == finite && verdict.own;
  return meets_it ? without_token(drafts, finite) : verdict;
}

}  // namespace forge
