// The scheduler against a plain transcription of the same policy over std::map, std::set and
// std::deque (property_tests/model_scheduler.h, which the property tests hold it to).
//
// Both get the same events and must make the same decisions. An iteration runs some steps of one
// and then the same steps of the other, so that whatever else the machine does meets both alike.
// "ratio" is the time of the transcription over that of the scheduler, schedule() and commit()
// alone.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "forge/core/check.h"
#include "forge/core/scheduler.h"
#include "model_scheduler.h"
#include "null_executor.h"
#include "request_stream.h"

namespace forge {
namespace {

using Clock = std::chrono::steady_clock;

/// One of the two, with its own copy of the same events.
template <class Scheduler>
class Side {
 public:
  Side(const SchedulerConfig& config, const bench::Traffic& traffic)
      : scheduler_(config), stream_(traffic), early_(config.batch.max_batch_size), executor_(0) {
    for (std::uint32_t i = 0; i < config.batch.max_batch_size + 64; ++i) submit();
  }

  void run(int steps) {
    const Clock::duration before = in_policy_;
    const std::uint64_t slices_before = slices_;
    for (int i = 0; i < steps; ++i) step();
    const std::chrono::duration<double, std::nano> spent = in_policy_ - before;
    ns_per_sequence_.push_back(spent.count() / static_cast<double>(slices_ - slices_before));
  }

  double median_ns_per_sequence() {
    const auto middle =
        ns_per_sequence_.begin() + static_cast<std::ptrdiff_t>(ns_per_sequence_.size() / 2);
    std::nth_element(ns_per_sequence_.begin(), middle, ns_per_sequence_.end());
    return *middle;
  }
  std::uint64_t slices() const { return slices_; }
  std::uint64_t preemptions() const { return preemptions_; }

 private:
  void submit() { benchmark::DoNotOptimize(scheduler_.submit(stream_.next(early_))); }

  void step() {
    const auto scheduling = Clock::now();
    const auto& plan = scheduler_.schedule();
    in_policy_ += Clock::now() - scheduling;
    slices_ += plan.slices.size();
    preemptions_ += plan.preempted.size();
    const std::size_t finished = plan.finished.size();
    to_answer_.slices.assign(plan.slices.begin(), plan.slices.end());
    static_cast<void>(executor_.execute(to_answer_, result_));  // never fails
    commit(plan);
    for (std::size_t i = 0; i < finished; ++i) submit();
  }

  template <class Plan>
  void commit(const Plan& plan) {
    const auto committing = Clock::now();
    if constexpr (std::is_same_v<Plan, StepPlan>) {
      result_.step = plan.step;
      scheduler_.commit(plan, result_);
    } else {
      scheduler_.commit(result_);
    }
    in_policy_ += Clock::now() - committing;
  }

  Scheduler scheduler_;
  bench::RequestStream stream_;
  std::uint64_t early_;
  apps::NullExecutor executor_;
  StepPlan to_answer_;
  StepResult result_;
  Clock::duration in_policy_{};
  std::vector<double> ns_per_sequence_;  // of each run()
  std::uint64_t slices_ = 0;
  std::uint64_t preemptions_ = 0;
};

/// Arguments: running sequences, blocks, prefix cache (0 none, 1 radix).
void against_plain_transcription(benchmark::State& state) {
  const auto running = static_cast<std::uint32_t>(state.range(0));
  const SchedulerConfig config{
      .cache = {.num_blocks = static_cast<std::uint32_t>(state.range(1))},
      .batch = {.max_batch_size = running, .max_batch_tokens = std::max(4096u, 2 * running)},
      .prefix_cache = static_cast<PrefixCacheKind>(state.range(2))};
  const bench::Traffic traffic;
  Side<Scheduler> real(config, traffic);
  Side<testing::ModelScheduler> plain(config, traffic);
  for (auto _ : state) {
    real.run(16);
    plain.run(16);
  }
  FORGE_CHECK(real.slices() == plain.slices() && real.preemptions() == plain.preemptions(),
              "both make the same decisions");
  state.counters["ns_plain"] = plain.median_ns_per_sequence();
  state.counters["ns_forge"] = real.median_ns_per_sequence();
  state.counters["ratio"] = plain.median_ns_per_sequence() / real.median_ns_per_sequence();
}
BENCHMARK(against_plain_transcription)
    ->ArgNames({"running", "blocks", "cache"})
    ->Args({16, 512, 1})
    ->Args({256, 8192, 0})
    ->Args({256, 8192, 1})
    ->Args({256, 2048, 1})
    ->Args({2048, 65536, 1})
    ->Iterations(64)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace forge
