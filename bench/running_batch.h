// RunningBatch: requests that an executor runs by the plans of a scheduler, one step at a time, and
// how long each step takes. All are alike and are submitted together, so they decode together.
//
// Example, given `gpu::GpuExecutor& executor` and `const SchedulerConfig& config`:
//
//   RunningBatch batch(executor, config);
//   batch.submit({.count = 8, .prompt = 128, .new_tokens = 64});
//   while (!batch.is_done()) {
//     const StepTimes times = batch.step();
//     if (batch.decodes()) ...
//   }
//
// A step or a sequence that fails ends the program: a benchmark has no result then.
//
// Borrows the executor, which has run nothing before. Thread contract: none of its own.
#pragma once

#include <cstdint>

#include "forge/core/scheduler.h"
#include "forge/gpu/gpu_executor.h"

namespace forge {

/// By the host's clock.
struct StepTimes {
  double step_us = 0;     ///< of the whole step: schedule, execute, commit
  double execute_us = 0;  ///< of it, of execute()
};

/// Requests of `prompt` tokens each, that generate `new_tokens` each.
struct AlikeRequests {
  std::uint32_t count = 1;
  std::uint32_t prompt = 1;
  std::uint32_t new_tokens = 1;
};

class RunningBatch {
 public:
  RunningBatch(gpu::GpuExecutor& executor, const SchedulerConfig& config);

  /// No two prompts begin alike. Requires: the vocabulary has more than 256 tokens.
  void submit(const AlikeRequests& requests);

  /// Requires: !is_done().
  StepTimes step();
  /// The plan of the last step.
  const StepPlan& plan() const { return scheduler_.plan(); }
  /// Whether it has given every sequence one token.
  bool decodes() const;
  /// Whether all requests have what they asked for.
  bool is_done() const { return tokens_left_ == 0; }

 private:
  Scheduler scheduler_;
  gpu::GpuExecutor& executor_;
  StepResult result_;
  std::uint64_t tokens_left_ = 0;  // to be generated
};

}  // namespace forge
