// The scheduler alone, with a target that answers at once (null_executor.h): what deciding costs.
//
// A steady state is measured: so many sequences run, so many wait, and for each one that ends a new
// one is submitted. An iteration is a step. Everything in it counts: schedule(), the answer
// (about 3 ns a sequence, see null_answer), commit(), submissions. "per_sequence" is the time of a
// step over the number of its slices.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "forge/core/scheduler.h"
#include "null_executor.h"
#include "request_stream.h"

namespace forge {
namespace {

using bench::RequestStream;
using bench::Traffic;

/// A scheduler in steady state.
class SteadyState {
 public:
  SteadyState(const SchedulerConfig& config, const Traffic& traffic, std::uint32_t waiting)
      : scheduler_(config), stream_(traffic), early_(config.batch.max_batch_size), executor_(0) {
    for (std::uint32_t i = 0; i < config.batch.max_batch_size + waiting; ++i) submit();
    // Until the first requests are long gone, and evictions have begun if they ever do.
    const std::uint64_t lives = 2 + std::uint64_t{config.cache.num_blocks} /
                                        (std::uint64_t{config.batch.max_batch_size} * 8);
    for (std::uint64_t i = 0; i < lives * (traffic.new_tokens + 8); ++i) step();
  }

  /// Returns the number of sequences scheduled.
  std::size_t step() {
    const StepPlan& plan = scheduler_.schedule();
    static_cast<void>(executor_.execute(plan, result_));  // never fails
    scheduler_.commit(plan, result_);
    preemptions_ += plan.preempted.size();
    for (std::size_t i = 0; i < plan.finished.size(); ++i) submit();
    return plan.slices.size();
  }

  const Scheduler& scheduler() const { return scheduler_; }
  std::uint64_t preemptions() const { return preemptions_; }

 private:
  void submit() { benchmark::DoNotOptimize(scheduler_.submit(stream_.next(early_))); }

  Scheduler scheduler_;
  RequestStream stream_;
  std::uint64_t early_;
  apps::NullExecutor executor_;
  StepResult result_;
  std::uint64_t preemptions_ = 0;
};

void measure(benchmark::State& state, SteadyState& steady) {
  std::size_t slices = 0;
  const std::uint64_t preemptions = steady.preemptions();
  for (auto _ : state) slices += steady.step();
  const auto count = static_cast<double>(slices);
  state.counters["sequences"] = count / static_cast<double>(state.iterations());
  state.counters["preemptions"] = benchmark::Counter(
      static_cast<double>(steady.preemptions() - preemptions), benchmark::Counter::kAvgIterations);
  state.counters["per_sequence"] =
      benchmark::Counter(count, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

SchedulerConfig config_of(std::uint32_t running, std::uint32_t num_blocks, PrefixCacheKind kind) {
  return {.cache = {.num_blocks = num_blocks},
          .batch = {.max_batch_size = running, .max_batch_tokens = std::max(4096u, 2 * running)},
          .prefix_cache = kind};
}

/// Arguments: running sequences, blocks, prefix cache, mixed priorities.
void scheduler_step(benchmark::State& state) {
  const auto kind = static_cast<PrefixCacheKind>(state.range(2));
  const Traffic traffic{.mixed_priorities = state.range(3) != 0};
  SteadyState steady(config_of(static_cast<std::uint32_t>(state.range(0)),
                               static_cast<std::uint32_t>(state.range(1)), kind),
                     traffic, 64);
  measure(state, steady);
  state.SetLabel(std::string(name_of(kind)));
}
BENCHMARK(scheduler_step)
    ->ArgNames({"running", "blocks", "cache", "mixed"})
    ->ArgsProduct({{16}, {512}, {0, 1, 2}, {0}})
    ->ArgsProduct({{256}, {8192}, {0, 1, 2}, {0, 1}})
    ->ArgsProduct({{10'000}, {1'000'000}, {0, 1, 2}, {0, 1}});

/// All the blocks in use: 10,000 sequences of up to 1536 tokens, a million blocks.
void scheduler_step_of_long_sequences(benchmark::State& state) {
  const auto kind = static_cast<PrefixCacheKind>(state.range(0));
  SchedulerConfig config = config_of(10'000, 1'000'000, kind);
  config.batch.max_batch_tokens = 65'536;
  SteadyState steady(config, {.common_tokens = 64, .own_tokens = 960, .new_tokens = 512}, 64);
  measure(state, steady);
  state.counters["used_blocks"] = steady.scheduler().cache().pool().used_count();
  state.SetLabel(std::string(name_of(kind)));
}
BENCHMARK(scheduler_step_of_long_sequences)->ArgName("cache")->DenseRange(0, 2);

/// The cost of those who only wait. Arguments: waiting sequences, mixed priorities.
void scheduler_step_beside_waiting(benchmark::State& state) {
  const Traffic traffic{.mixed_priorities = state.range(1) != 0};
  SteadyState steady(config_of(256, 8192, PrefixCacheKind::radix), traffic,
                     static_cast<std::uint32_t>(state.range(0)));
  measure(state, steady);
}
BENCHMARK(scheduler_step_beside_waiting)
    ->ArgNames({"waiting", "mixed"})
    ->ArgsProduct({{100, 1'000, 10'000, 100'000}, {0, 1}});

/// Blocks for half of the sequences only: preemption all the time. Argument: policy.
void scheduler_step_under_pressure(benchmark::State& state) {
  SchedulerConfig config = config_of(256, 2048, PrefixCacheKind::radix);
  config.cache.num_host_blocks = 2048;
  config.preemption = static_cast<PreemptionPolicy>(state.range(0));
  SteadyState steady(config, {}, 64);
  measure(state, steady);
}
BENCHMARK(scheduler_step_under_pressure)->ArgName("policy")->DenseRange(0, 2);

/// What of the above is the target's.
void null_answer(benchmark::State& state) {
  StepPlan plan;
  for (std::uint64_t seq = 1; seq <= 256; ++seq)
    plan.slices.push_back({SeqId{seq}, 100, 1, 0, true});
  apps::NullExecutor executor(0);
  StepResult result;
  for (auto _ : state) benchmark::DoNotOptimize(executor.execute(plan, result));
  state.counters["per_sequence"] =
      benchmark::Counter(256.0 * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(null_answer);

/// The digest of a step of 16 decodes, which a recorder pays for each step.
void run_digest(benchmark::State& state) {
  StepPlan plan;
  for (std::uint64_t seq = 1; seq <= 16; ++seq)
    plan.slices.push_back({SeqId{seq}, 100, 1, 0, true});
  StepResult result;
  benchmark::DoNotOptimize(apps::NullExecutor(0).execute(plan, result));
  result.logits.assign(16, 0x0123456789abcdef);
  RunDigest run;
  for (auto _ : state) benchmark::DoNotOptimize(run.add(plan, result));
}
BENCHMARK(run_digest);

}  // namespace
}  // namespace forge
