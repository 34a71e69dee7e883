// What a token costs beside the target, from the plan to its sink.
//
// An iteration is a batch of requests from submission to the last token of the last one. The sinks
// do nothing, so the loop thread has all the work: CPU time of the process is its time.
#include <benchmark/benchmark.h>

#include <atomic>

#include "null_loop.h"
#include "request_stream.h"

namespace forge {
namespace {

constexpr std::uint32_t kNewTokens = 256;

/// Argument: requests that run at a time.
void loop_tokens(benchmark::State& state) {
  const auto running = static_cast<std::uint32_t>(state.range(0));
  std::atomic<std::uint32_t> left = 0;  // requests that have not ended
  bench::NullLoop null(running);
  bench::RequestStream stream({.common_tokens = 16, .own_tokens = 16, .new_tokens = kNewTokens});
  const auto sink = [&left](const engine::TokenEvent& event) {
    if (event.finish != FinishReason::none && --left == 0) left.notify_one();
  };
  for (auto _ : state) {
    left = running;
    for (std::uint32_t i = 0; i < running; ++i) {
      if (!null.loop.submit(stream.next(0), {}, sink)) state.SkipWithError("refused");
    }
    for (std::uint32_t seen = left; seen > 0; seen = left) left.wait(seen);
  }
  state.counters["per_token"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * running * kNewTokens,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(loop_tokens)->ArgName("running")->Arg(1)->Arg(16)->Arg(256)->MeasureProcessCPUTime();

}  // namespace
}  // namespace forge
