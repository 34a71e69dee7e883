#include "forge/executor/kv_guard.h"

#include <algorithm>
#include <span>

#include "forge/core/check.h"

namespace forge::executor {
namespace {

/// A draft model reads rows that were caught up in the same pass (drafter.h).
KvPass kv_pass(const StepSlices& step, const Pass& pass, const RowRun& run) {
  const StepSlice& slice = *run.slice;
  const std::uint32_t known = std::min(slice.known_end(), run.end);
  return {.seq = slice.slice.seq,
          .blocks = slice.sequence->blocks,
          .known = std::span(slice.sequence->tokens).first(known),
          .drafts = step.drafts(slice).first(run.end - known),
          .computed = slice.slice.first,
          .first = run.first,
          .catches_up = pass.model == PassModel::draft};
}

std::size_t index_of(PassModel model) { return static_cast<std::size_t>(model); }

}  // namespace

KvGuard::KvGuard(const ExecutorOptions& options, int layers,
                 std::optional<int> draft_model_layers) {
  if (!options.check_kv) return;
  const auto watch = [&](PassModel model, int all) {
    pools_[index_of(model)] = {
        all,
        {options.cache.num_blocks, options.cache.num_host_blocks, options.cache.block_size, all}};
  };
  watch(PassModel::model, layers);
  if (draft_model_layers) watch(PassModel::draft, *draft_model_layers);
}

void KvGuard::copy(const StepPlan& plan) {
  for (std::optional<Watched>& pool : pools_) {
    if (!pool) continue;
    for (const BlockCopy& copy : plan.copies) pool->provenance.copy(copy);
  }
}

void KvGuard::run(const StepSlices& step, const Pass& pass) {
  std::optional<Watched>& pool = pools_[index_of(pass.model)];
  if (!pool) return;
  passes_.clear();
  for (const RowRun& run : step.runs(pass)) passes_.push_back(kv_pass(step, pass, run));
  const auto checked =
      pool->provenance.run(step.step(), pass.layers.value_or(pool->layers), passes_);
  FORGE_CHECK(checked.has_value(), to_string(checked.error()));
}

void KvGuard::forget(const StepPlan& plan, const StepSlices& step) {
  for (std::optional<Watched>& pool : pools_) {
    if (!pool) continue;
    for (const BlockCopy& copy : plan.copies) pool->provenance.forget_destination(copy);
  }
  for (const Pass& pass : step.passes()) {
    std::optional<Watched>& pool = pools_[index_of(pass.model)];
    if (!pool) continue;
    for (const RowRun& run : step.runs(pass)) pool->provenance.forget(kv_pass(step, pass, run));
  }
}

void KvGuard::lose_kv() {
  for (std::optional<Watched>& pool : pools_) {
    if (pool) pool->provenance.forget_all();
  }
}

}  // namespace forge::executor
