// The scheduler alone: how many tokens a second can be decided about, if running them is free.
#include <benchmark/benchmark.h>

#include "forge/core/scheduler.h"
#include "null_executor.h"

namespace forge {
namespace {

/// Waves of requests with a prompt of one block and 64 new tokens each. items/s are generated
/// tokens/s.
void scheduler_null_executor(benchmark::State& state) {
  const auto batch = static_cast<std::uint32_t>(state.range(0));
  Scheduler scheduler({.num_blocks = batch * 8, .block_size = 16, .max_batch_size = batch});
  const Request request{
      .prompt = std::vector<TokenId>(16, TokenId{5}), .max_new_tokens = 64, .sampling = {}};
  StepResult result;
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < batch; ++i) benchmark::DoNotOptimize(scheduler.submit(request));
    while (scheduler.has_work()) {
      const StepPlan& plan = scheduler.schedule();
      bench::answer(plan, result);
      scheduler.commit(plan, result);
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * batch * 64);
}
BENCHMARK(scheduler_null_executor)->Arg(1)->Arg(16)->Arg(256);

/// The digest of a step of 16 decodes, which a recorder pays for each step.
void run_digest(benchmark::State& state) {
  StepPlan plan;
  for (std::uint64_t seq = 1; seq <= 16; ++seq) {
    plan.slices.push_back({SeqId{seq}, 100, 1, 0, true});
  }
  StepResult result;
  bench::answer(plan, result);
  result.logits.assign(16, 0x0123456789abcdef);
  RunDigest run;
  for (auto _ : state) benchmark::DoNotOptimize(run.add(plan, result));
}
BENCHMARK(run_digest);

}  // namespace
}  // namespace forge
