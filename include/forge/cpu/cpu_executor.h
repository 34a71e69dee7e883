// CpuExecutor: runs plans on the CPU, with any model (cpu_model.h).
//
// One execute():
//   1. apply     the plan's changes: who left, who entered, block tables, copies of blocks within
//                the device pool, out to the host pool and back
//   2. draft     for slices with drafts: passes propose them one by one, all sequences side by
//                side (drafter.h)
//   3. forward   all slices in one pass: prompt chunks, decodes and drafts to verify alike
//   4. accept    the acceptance rule decides what each sampling slice yields (acceptance.h)
//
// What a request yields depends on the request and the model alone: not on the slices that ran
// beside it, its chunking, a recompute, the blocks, or on speculation. The token at position p (its
// index in prompt and output) meets the noise of (request seed, p), and its logits have the same
// bits, whichever step computes them.
//
// Logits that are not finite end the sequence that they are of (FinishSignal::not_finite), where
// the text comes to them: not in a draft that is rejected before.
//
// In checked builds (CMake option FORGE_CHECKED) every read of KV is checked against what was
// written there (kv_provenance.h).
//
// Owns the model with its KV cache, tokens and tables. Thread contract: one thread at a time. In
// steady state execute() allocates nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <tl/expected.hpp>
#include <vector>

#include "forge/cpu/cpu_model.h"
#include "forge/cpu/row_batch.h"
#include "forge/executor/drafter.h"
#include "forge/executor/executor_options.h"
#include "forge/executor/kv_guard.h"
#include "forge/executor/model_executor.h"
#include "forge/executor/sequence_table.h"
#include "forge/executor/step_answer.h"
#include "forge/executor/step_slices.h"
#include "forge/executor/token_reporter.h"
#include "forge/sampling/pipeline.h"

namespace forge::cpu {

class CpuExecutor : public executor::ModelExecutor {
 public:
  /// With a `draft`, that proposes the drafts, not the first layers of the model; or a `drafter` of
  /// the caller's says what does. Requires: `options` is valid for the model's layers; caches have
  /// the sizes that they say; the draft's vocabulary is not larger than the model's.
  CpuExecutor(const executor::ExecutorOptions& options, std::unique_ptr<CpuModel> model,
              std::unique_ptr<CpuModel> draft = nullptr,
              std::unique_ptr<executor::Drafter> drafter = nullptr);

  /// Copies the request. Requires: see SequenceTable::begin.
  void begin(SeqId seq, const Request& request) override;
  tl::expected<void, std::string> resume(SeqId seq, const Request& request,
                                         const PastRun& past) override;

  std::optional<std::string> refuses(const Request& request) const override {
    return sequences_.refuses(request);
  }

  /// Never fails. A plan that contradicts the earlier ones is a programmer error (sequence_table.h,
  /// kv_provenance.h).
  tl::expected<void, ExecutionError> execute(const StepPlan& plan, StepResult& result) override;
  tl::expected<void, std::string> reopen() override;

  const SpeculationStatistics& speculation() const override { return answer_.speculation(); }

  const executor::ExecutorOptions& options() const { return options_; }

 private:
  /// A model with the rows that it runs.
  struct Running {
    std::unique_ptr<CpuModel> model;
    RowBatch batch;
  };

  Running& running(executor::PassModel model) { return models_[static_cast<std::size_t>(model)]; }
  void run(const executor::Pass& pass);
  void take_drafts(const executor::Pass& pass, const RowBatch& batch);
  std::optional<TokenId> pick(std::span<const float> logits, const executor::StepSlice& slice,
                              std::uint32_t i, std::span<const std::uint32_t> mask = {});
  Verification judge(const executor::StepSlice& slice);

  executor::ExecutorOptions options_;
  std::vector<Running> models_;  // [PassModel] the model, and the draft model if there is one
  std::unique_ptr<executor::Drafter> drafter_;
  executor::SequenceTable sequences_;
  executor::KvGuard guard_;
  executor::StepAnswer answer_;
  sampling::Pipeline pipeline_;
  executor::TokenReporter reporter_;

  executor::StepSlices step_;  // of the step at hand
};

}  // namespace forge::cpu
