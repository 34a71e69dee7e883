// The built-in model of default size through its executor, without a scheduler.
#include <benchmark/benchmark.h>

#include <memory>

#include "forge/core/scheduler.h"
#include "forge/cpu/cpu_executor.h"

namespace forge {
namespace {

Request request_of(std::uint32_t prompt_tokens, std::uint32_t new_tokens) {
  Request request{.prompt = {}, .max_new_tokens = new_tokens, .sampling = {}, .ignore_eos = true};
  for (std::uint32_t i = 0; i < prompt_tokens; ++i) request.prompt.push_back(TokenId{1 + i % 256});
  return request;
}

/// Prompts run whole, and each anew: it is the model that is measured here.
SchedulerConfig config_of(std::uint32_t sequences) {
  return {.cache = {.num_blocks = 4096, .block_size = 16},
          .batch = {.max_batch_size = sequences, .max_batch_tokens = 1 << 16},
          .prefill_chunk_size = 1 << 16,
          .prefix_cache = PrefixCacheKind::none};
}

cpu::CpuExecutor builtin_executor(bool digest_logits = false) {
  const executor::ExecutorOptions options{.cache = {.num_blocks = 4096},
                                          .digest_logits = digest_logits};
  return {options, cpu::seeded_cpu_model({}, options)};
}

/// A batch whose sequences have decoded up to a context of `context` tokens.
struct RunningBatch {
  cpu::CpuExecutor executor;
  Scheduler scheduler;
  StepResult result;

  RunningBatch(std::uint32_t sequences, std::uint32_t context, bool digest_logits)
      : executor(builtin_executor(digest_logits)), scheduler(config_of(sequences)) {
    for (std::uint32_t i = 0; i < sequences; ++i) {
      const Request request = request_of(context, 2000);
      executor.begin(*scheduler.submit(request), request);
    }
    step();
  }

  void step() {
    const StepPlan& plan = scheduler.schedule();
    benchmark::DoNotOptimize(executor.execute(plan, result));
    scheduler.commit(plan, result);
  }
};

/// Decode steps at contexts from `context` on. Arguments: sequences, context, logits digests.
/// The batch starts anew after 64 steps, so that contexts stay near the one named.
void decode(benchmark::State& state) {
  const auto sequences = static_cast<std::uint32_t>(state.range(0));
  const auto context = static_cast<std::uint32_t>(state.range(1));
  const bool digests = state.range(2) != 0;
  std::unique_ptr<RunningBatch> batch;
  int steps = 64;
  for (auto _ : state) {
    if (steps++ == 64) {
      state.PauseTiming();
      batch = std::make_unique<RunningBatch>(sequences, context, digests);
      steps = 0;
      state.ResumeTiming();
    }
    batch->step();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * sequences);
}
BENCHMARK(decode)
    ->Args({1, 32, 0})
    ->Args({16, 32, 0})
    ->Args({16, 32, 1})
    ->Args({1, 1024, 0})
    ->Args({16, 1024, 0});

/// One prompt of so many tokens, in one step.
void prefill(benchmark::State& state) {
  const auto tokens = static_cast<std::uint32_t>(state.range(0));
  cpu::CpuExecutor executor = builtin_executor();
  Scheduler scheduler(config_of(1));
  const Request request = request_of(tokens, 1);
  StepResult result;
  for (auto _ : state) {
    executor.begin(*scheduler.submit(request), request);
    while (scheduler.has_work()) {
      const StepPlan& plan = scheduler.schedule();
      benchmark::DoNotOptimize(executor.execute(plan, result));
      scheduler.commit(plan, result);
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * tokens);
}
BENCHMARK(prefill)->Arg(64)->Arg(1024)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace forge
