// CpuExecutor: runs plans on the reference Transformer, on the CPU, on one thread.
//
// One execute():
//   1. apply     the plan's changes: who left, who entered, block tables, copies of blocks within
//                the device pool, out to the host pool and back
//   2. draft     for slices with drafts: the first draft_layers layers of the model propose
//                them one by one, all sequences side by side, in the target's own KV pool
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
// In checked builds (CMake option FORGE_CHECKED) every read of KV is checked against what was
// written there (kv_provenance.h).
//
// Owns model, KV pools, tokens and tables. Thread contract: one thread at a time. In steady
// state execute() allocates nothing.
#pragma once

#include <cstdint>
#include <span>
#include <tl/expected.hpp>
#include <vector>

#include "forge/cpu/row_batch.h"
#include "forge/model/kv_pool.h"
#include "forge/model/tiny_transformer.h"
#include "forge/target/executor_options.h"
#include "forge/target/kv_guard.h"
#include "forge/target/model_executor.h"
#include "forge/target/sequence_table.h"
#include "forge/target/step_answer.h"
#include "forge/target/step_slices.h"

namespace forge {

class CpuExecutor : public ModelExecutor {
 public:
  /// Requires: `options` is valid.
  explicit CpuExecutor(const ExecutorOptions& options);

  /// Copies the request. Requires: see SequenceTable::begin.
  void begin(SeqId seq, const Request& request) override;

  /// Never fails. A plan that contradicts the earlier ones is a programmer error (sequence_table.h,
  /// kv_provenance.h).
  tl::expected<void, ExecutionError> execute(const StepPlan& plan, StepResult& result) override;

  const SpeculationStatistics& speculation() const override { return answer_.speculation(); }

  const ExecutorOptions& options() const { return options_; }
  const TinyTransformer& model() const { return model_; }

 private:
  void copy(const BlockCopy& copy);
  void propose(std::uint32_t pass);
  TokenId choose_draft(const Request& request, std::span<const float> logits,
                       std::uint64_t position, std::size_t draft_index);
  void run(std::uint32_t pass);
  Verification judge(const StepSlice& slice);

  ExecutorOptions options_;
  TinyTransformer model_;
  KvPool pool_;
  KvPool host_pool_;
  SequenceTable sequences_;
  RowBatch batch_;
  KvGuard guard_;
  StepAnswer answer_;

  // Of the step at hand.
  StepSlices step_;
  std::vector<double> draft_rows_;   // [drafts of all slices][V], rejection only
  std::vector<double> target_rows_;  // [drafts + 1][V] of one slice, rejection only
};

}  // namespace forge
