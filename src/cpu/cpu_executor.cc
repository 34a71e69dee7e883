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
                         std::unique_ptr<CpuModel> draft,
                         std::unique_ptr<executor::Drafter> drafter)
    : options_(checked(options, model->layers())),
      drafter_(drafter ? std::move(drafter)
                       : make_drafter(options, draft ? std::optional(draft->vocabulary_size())
                                                     : std::nullopt)),
      sequences_({options.cache.num_blocks, options.cache.block_size, model->positions()},
                 options.grammars),
      guard_(options, model->layers(), draft ? std::optional(draft->layers()) : std::nullopt),
      answer_(options, *drafter_) {
  FORGE_CHECK(!draft || draft->vocabulary_size() <= model->vocabulary_size(),
              "vocabulary of the draft=", draft->vocabulary_size(),
              " of the model=", model->vocabulary_size());
  for (std::unique_ptr<CpuModel>* each : {&model, &draft}) {
    if (CpuModel* runs = each->get()) models_.push_back({std::move(*each), RowBatch(*runs)});
  }
}

void CpuExecutor::begin(SeqId seq, const Request& request) { sequences_.begin(seq, request); }

tl::expected<void, std::string> CpuExecutor::resume(SeqId seq, const Request& request,
                                                    const PastRun& past) {
  return answer_.resume(sequences_.begin(seq, request), past);
}

tl::expected<void, ExecutionError> CpuExecutor::execute(const StepPlan& plan, StepResult& result) {
  sequences_.apply(plan);
  for (const BlockCopy& copied : plan.copies) {
    for (Running& each : models_) each.model->copy(copied);
  }
  guard_.copy(plan);
  step_.begin(plan, sequences_, *drafter_);
  for (const executor::Pass& pass : step_.passes()) run(pass);

  const RowBatch& batch = running(executor::PassModel::model).batch;
  result.clear();
  result.step = plan.step;
  for (const executor::StepSlice& slice : step_.all()) {
    const Verification verdict = slice.slice.samples ? judge(slice) : Verification();
    if (is_told(slice)) {
      const auto logits_of = [&](std::uint32_t number) { return batch.logits(number); };
      reporter_.report(step_, slice, verdict, logits_of, result);
    }
    const std::uint32_t tokens = answer_.accept(step_, slice, verdict, result);
    if (!options_.digest_logits) continue;
    for (std::uint32_t i = 0; i < tokens; ++i) {
      result.logits.push_back(
          executor::logits_digest(batch.logits(slice.first_logits + slice.told + i)));
    }
  }
  return {};
}

tl::expected<void, std::string> CpuExecutor::reopen() {
  sequences_.lose_kv();
  guard_.lose_kv();
  drafter_->lose_kv();
  return {};
}

void CpuExecutor::run(const executor::Pass& pass) {
  guard_.run(step_, pass);
  auto& [model, batch] = running(pass.model);
  batch.clear();
  for (const executor::RowRun& run : step_.runs(pass)) {
    batch.add_sequence(run.slice->sequence->blocks);
    for (std::uint32_t position = run.first; position < run.end; ++position) {
      batch.add_row(step_.token(pass, *run.slice, position), position,
                    position >= run.first_logits);
    }
  }
  batch.run(pass.layers.value_or(model->layers()));
  if (pass.proposes) take_drafts(pass, batch);
}

/// The tokens that a pass proposes. Of logits that are not finite any draft will do: the model
/// decides. Sequences with a grammar have no such drafts.
void CpuExecutor::take_drafts(const executor::Pass& pass, const RowBatch& batch) {
  std::size_t row = 0;
  for (const executor::RowRun& run : step_.runs(pass)) {
    const executor::StepSlice& slice = *run.slice;
    for (std::uint32_t next = run.first_logits + 1; next <= run.end; ++next) {
      const std::uint32_t i = slice.draft_of(next);
      step_.drafts()[slice.first_draft + i] =
          pick(batch.logits(row++), slice, i).value_or(TokenId(0));
    }
  }
}

/// The token at the position of draft i of `slice`, or after the last one; none if the logits are
/// not finite.
std::optional<TokenId> CpuExecutor::pick(std::span<const float> logits,
                                         const executor::StepSlice& slice, std::uint32_t i,
                                         std::span<const std::uint32_t> mask) {
  const SamplingParams& sampling = slice.sequence->request.sampling;
  const std::span<const float> row =
      pipeline_.process(logits, sampling, slice.sequence->said, step_.drafts(slice).first(i), mask);
  if (!sampling::can_pick(row)) return std::nullopt;
  return sampling::pick(row, sampling, std::uint64_t{slice.known_end()} + i);
}

Verification CpuExecutor::judge(const executor::StepSlice& slice) {
  const RowBatch& batch = running(executor::PassModel::model).batch;
  const executor::StepMasks& masks = step_.masks();
  const auto own_pick = [&](std::uint32_t i) -> std::optional<TokenId> {
    const std::uint32_t number = slice.first_pick + i;
    if (masks.failure(number) != FinishSignal::none) return std::nullopt;
    return pick(batch.logits(slice.first_logits + slice.told + i), slice, i, masks.mask(number));
  };
  const auto ends = [&](TokenId token) { return answer_.ends(*slice.sequence, token); };
  return verify_by_picks(step_.drafts(slice), own_pick, ends);
}

}  // namespace forge::cpu
