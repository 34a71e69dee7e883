#include "forge/executor/kv_guard.h"

#include <span>

#include "forge/core/check.h"

namespace forge::executor {
namespace {

KvPass kv_pass(const StepSlices& step, const StepSlice& slice, const SliceRows& rows) {
  const std::uint32_t known_end = slice.known_end();
  return {.seq = slice.slice.seq,
          .blocks = slice.sequence->blocks,
          .known = std::span(slice.sequence->tokens).first(known_end),
          .drafts = step.drafts(slice).first(rows.end - known_end),
          .computed = slice.slice.first,
          .first = rows.first};
}

}  // namespace

KvGuard::KvGuard(const ExecutorOptions& options, int layers)
    : layers_(layers), draft_layers_(options.draft_layers) {
  if (!options.check_kv) return;
  provenance_.emplace(options.num_blocks, options.num_host_blocks, options.block_size, layers);
}

void KvGuard::copy(const StepPlan& plan) {
  if (!provenance_) return;
  for (const BlockCopy& copy : plan.copies) provenance_->copy(copy);
}

void KvGuard::run(const StepSlices& step, std::uint32_t pass) {
  if (!provenance_) return;
  passes_.clear();
  for (const StepSlice& slice : step.all()) {
    const SliceRows rows = step.rows(slice, pass);
    if (rows.count() > 0) passes_.push_back(kv_pass(step, slice, rows));
  }
  const int layers = pass < step.draft_passes() ? draft_layers_ : layers_;
  const auto checked = provenance_->run(step.step(), layers, passes_);
  FORGE_CHECK(checked.has_value(), to_string(checked.error()));
}

void KvGuard::forget(const StepPlan& plan, const StepSlices& step) {
  if (!provenance_) return;
  for (const BlockCopy& copy : plan.copies) provenance_->forget_target(copy);
  for (const StepSlice& slice : step.all()) {
    const SliceRows rows = step.rows(slice, step.draft_passes());
    provenance_->forget(kv_pass(step, slice, rows));
  }
}

}  // namespace forge::executor
