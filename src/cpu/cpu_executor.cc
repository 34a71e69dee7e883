#include "forge/cpu/cpu_executor.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "forge/core/check.h"
#include "forge/executor/logits_digest.h"
#include "forge/sampling/sampler.h"

namespace forge::cpu {
namespace {

const executor::ExecutorOptions& checked(const executor::ExecutorOptions& options, int layers) {
  const auto valid = validate(options, layers);
  FORGE_CHECK(valid.has_value(), to_string(valid.error()));
  return options;
}

}  // namespace

CpuExecutor::CpuExecutor(const executor::ExecutorOptions& options, std::unique_ptr<CpuModel> model,
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

  if (draft_ && step_.draft_passes() == 0) run_draft_model(0);
  for (std::uint32_t pass = 0; pass < step_.draft_passes(); ++pass) propose(pass);
  run(step_.draft_passes());

  result.clear();
  result.step = plan.step;
  for (const executor::StepSlice& slice : step_.all()) {
    const Verification verdict = slice.slice.samples ? judge(slice) : Verification();
    const std::uint32_t tokens = answer_.accept(step_, slice, verdict, result);
    if (!options_.digest_logits) continue;
    for (std::uint32_t i = 0; i < tokens; ++i) {
      result.logits.push_back(executor::logits_digest(batch_.logits(slice.first_pick + i)));
    }
  }
  return {};
}

/// Runs the rows of all slices in one pass (step_slices.h).
void CpuExecutor::run(std::uint32_t pass) {
  guard_.run(step_, pass);
  batch_.clear();
  for (const executor::StepSlice& slice : step_.all()) {
    const executor::SliceRows rows = step_.rows(slice, pass);
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
  for (const executor::StepSlice& slice : step_.all()) {
    executor::SliceRows rows = step_.rows(slice, pass);
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
  for (const executor::StepSlice& slice : step_.all()) {
    if (slice.slice.drafts <= pass) continue;
    const std::span<const float> logits = batch.logits(row++);
    // Of logits that are not finite any draft will do: the target decides.
    step_.drafts()[slice.first_draft + pass] =
        sampling::can_pick(logits) ? sampling::pick(logits, slice.sequence->request.sampling,
                                                    std::uint64_t{slice.known_end()} + pass)
                                   : TokenId(0);
  }
}

Verification CpuExecutor::judge(const executor::StepSlice& slice) {
  const SamplingParams& sampling = slice.sequence->request.sampling;
  const auto own_pick = [&](std::uint32_t i) -> std::optional<TokenId> {
    const std::span<const float> logits = batch_.logits(slice.first_pick + i);
    if (!sampling::can_pick(logits)) return std::nullopt;
    return sampling::pick(logits, sampling, std::uint64_t{slice.known_end()} + i);
  };
  const auto ends = [&](TokenId token) { return answer_.ends(*slice.sequence, token); };
  return verify_by_picks(step_.drafts(slice), own_pick, ends);
}

}  // namespace forge::cpu
