// CpuExecutor: runs plans on the CPU, with the reference Transformer or a model from a file.
//
// One execute():
//   1. apply     the plan's changes: who left, who entered, block tables, copies of blocks within
//                the device pool, out to the host pool and back
//   2. draft     for slices with drafts: the first draft_layers layers of the model propose
//                them one by one, all sequences side by side, in the target's own KV pool; or a
//                draft model does, in a pool of its own
//   3. forward   all slices in one pass: prompt chunks, decodes and drafts to verify alike
//   4. accept    the acceptance rule decides what each sampling slice yields (acceptance.h)
//
// What a request yields depends on the request and the model alone: not on the slices that
// ran beside it, its chunking, a recompute, the blocks, or, under shared_noise, on
// speculation. The token at position p (its index in prompt and output) meets the noise
// of (request seed, p), and its logits have the same bits, whichever step computes them.
//
// Under AcceptanceRule::rejection the text has the target's distribution exactly, but at a
// temperature above 0 it depends on which drafts were verified, so on the schedule too.
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
#include <span>
#include <tl/expected.hpp>
#include <vector>

#include "forge/cpu/cpu_model.h"
#include "forge/cpu/row_batch.h"
#include "forge/target/executor_options.h"
#include "forge/target/kv_guard.h"
#include "forge/target/model_executor.h"
#include "forge/target/sequence_table.h"
#include "forge/target/step_answer.h"
#include "forge/target/step_slices.h"

namespace forge {

class CpuExecutor : public ModelExecutor {
 public:
  /// The reference model of `options`. Requires: they are valid.
  explicit CpuExecutor(const ExecutorOptions& options);

  /// Any model; `options.model` says nothing then. With a `draft`, that proposes the drafts, not
  /// the first layers of the model. Requires: `options` is valid for the model's layers; caches
  /// have the sizes that they say; the draft's vocabulary is not larger than the model's.
  CpuExecutor(const ExecutorOptions& options, std::unique_ptr<CpuModel> model,
              std::unique_ptr<CpuModel> draft = nullptr);

  /// Copies the request. Requires: see SequenceTable::begin.
  void begin(SeqId seq, const Request& request) override;

  /// Never fails. A plan that contradicts the earlier ones is a programmer error (sequence_table.h,
  /// kv_provenance.h).
  tl::expected<void, ExecutionError> execute(const StepPlan& plan, StepResult& result) override;

  const SpeculationStatistics& speculation() const override { return answer_.speculation(); }

  const ExecutorOptions& options() const { return options_; }

 private:
  void propose(std::uint32_t pass);
  TokenId choose_draft(const Request& request, std::span<const float> logits,
                       std::uint64_t position, std::size_t draft_index);
  void run(std::uint32_t pass);
  void run_draft_model(std::uint32_t pass);
  Verification judge(const StepSlice& slice);
  Verification judge_by_rejection(const StepSlice& slice);

  ExecutorOptions options_;
  std::unique_ptr<CpuModel> model_;
  std::unique_ptr<CpuModel> draft_;  // none: the first layers of model_
  SequenceTable sequences_;
  RowBatch batch_;
  RowBatch draft_batch_;  // of draft_, or never used
  KvGuard guard_;
  StepAnswer answer_;

  // Of the step at hand.
  StepSlices step_;
  std::vector<double> draft_rows_;   // [drafts of all slices][V], rejection only
  std::vector<double> target_rows_;  // [drafts + 1][V] of one slice, rejection only
};

}  // namespace forge
