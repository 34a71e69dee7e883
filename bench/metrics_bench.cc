// What metrics cost: to count a step, and to be scraped while many requests run.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "engine/counted_decodes.h"
#include "metrics_page.h"
#include "null_loop.h"

namespace forge {
namespace {

using engine::EngineMetrics;
using engine::TimePoint;

/// A step of decodes. Argument: sequences. "per_sequence" is its time over their number.
void count_step(benchmark::State& state) {
  const auto sequences = static_cast<std::size_t>(state.range(0));
  test::CountedDecodes decodes(sequences);
  for (auto _ : state) {
    decodes.step();
    benchmark::DoNotOptimize(decodes.published());
  }
  state.counters["per_sequence"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(sequences),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(count_step)->ArgName("sequences")->Arg(1)->Arg(16)->Arg(256)->Arg(10'000);

void count_end(benchmark::State& state) {
  EngineMetrics metrics;
  engine::RequestProgress request{.prompt_tokens = 100, .max_new_tokens = 100};
  request.admit(10, TimePoint());
  request.first_token = request.last_token = TimePoint() + std::chrono::seconds(1);
  request.completion_tokens = 50;
  for (auto _ : state) {
    metrics.add_end(request, FinishReason::length, TimePoint() + std::chrono::seconds(2));
    benchmark::DoNotOptimize(metrics);
  }
}
BENCHMARK(count_end);

/// A loop whose requests never get fewer: who ends is followed by another one.
class CrowdedLoop {
 public:
  explicit CrowdedLoop(std::uint32_t running) : null_(std::max(running, 1U)) {
    for (std::uint32_t i = 0; i < running; ++i) submit();
    while (null_.loop.status().running + 8 < running) std::this_thread::yield();
  }
  ~CrowdedLoop() { ends_ = true; }

  const engine::EngineLoop& loop() const { return null_.loop; }

 private:
  void submit() {
    const auto sink = [this](const engine::TokenEvent& event) {
      if (event.finish != FinishReason::none && !ends_) submit();
    };
    benchmark::DoNotOptimize(null_.loop.submit(request_, {}, sink));
  }

  const Request request_{.prompt = std::vector<TokenId>(32, TokenId(1)), .max_new_tokens = 256};
  std::atomic<bool> ends_ = false;
  bench::NullLoop null_;  // last: its thread submits
};

/// All that GET /metrics does but for HTTP, wall time. Argument: requests that run meanwhile.
void scrape(benchmark::State& state) {
  const CrowdedLoop crowd(static_cast<std::uint32_t>(state.range(0)));
  const serve::ModelCard model{.id = "null", .context_tokens = 1 << 17, .kv_type = "f32"};
  const serve::ServeCounts counts;
  std::size_t bytes = 0;
  for (auto _ : state) {
    bytes = serve::metrics_text({.model = model,
                                 .config = crowd.loop().config(),
                                 .counts = counts,
                                 .status = crowd.loop().status(),
                                 .engine = crowd.loop().metrics(),
                                 .process = serve::read_process_metrics(),
                                 .now = std::chrono::steady_clock::now()})
                .size();
  }
  state.counters["bytes"] = static_cast<double>(bytes);
  state.counters["running"] = static_cast<double>(crowd.loop().status().running);
}
BENCHMARK(scrape)->ArgName("running")->Arg(0)->Arg(256)->Arg(10'000)->UseRealTime();

/// The part of it that holds the loop's lock.
void scrape_copies(benchmark::State& state) {
  const CrowdedLoop crowd(static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(crowd.loop().status());
    benchmark::DoNotOptimize(crowd.loop().metrics());
  }
}
BENCHMARK(scrape_copies)->ArgName("running")->Arg(0)->Arg(10'000)->UseRealTime();

}  // namespace
}  // namespace forge
