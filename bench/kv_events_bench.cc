// What it costs to tell followers of the prefix cache: blocks/s, from a step's delta to bytes.
//
// The argument is the number of blocks of a prompt: each is stored as a chain, and removed again.
#include <benchmark/benchmark.h>

#include "forge/kv_events/cache_feed.h"
#include "forge/kv_events/codec.h"
#include "forge/kv_events/publisher.h"
#include "kv_events/stored_prompts.h"

namespace forge {
namespace {

using kv_events::CacheFeed;
using kv_events::KvEventFormat;
using test::StoredPrompts;

/// On the loop thread.
void kv_events_feed(benchmark::State& state) {
  const StoredPrompts steps(static_cast<std::uint32_t>(state.range(0)));
  CacheFeed feed(StoredPrompts::kConfig);
  std::size_t step = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(feed.follow(steps.deltas[step], *steps.index, 1.5));
    step = (step + 1) % steps.deltas.size();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

/// All of it, on one thread. The bytes are of a block that is stored and one that is removed.
void kv_events_feed_and_encode(benchmark::State& state, KvEventFormat format) {
  const StoredPrompts steps(static_cast<std::uint32_t>(state.range(0)));
  CacheFeed feed(StoredPrompts::kConfig);
  std::size_t step = 0;
  std::size_t bytes = 0;
  for (auto _ : state) {
    const auto batch = feed.follow(steps.deltas[step], *steps.index, 1.5);
    bytes += kv_events::encode(batch, format).size();
    step = (step + 1) % steps.deltas.size();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["bytes_per_block"] =
      static_cast<double>(bytes) / static_cast<double>(state.iterations() * state.range(0));
}

/// All that the loop thread does; another one encodes and sends meanwhile, to nobody.
void kv_events_feed_and_publish(benchmark::State& state) {
  const StoredPrompts steps(static_cast<std::uint32_t>(state.range(0)));
  CacheFeed feed(StoredPrompts::kConfig);
  const auto publisher =
      kv_events::KvEventPublisher::open({.endpoint = "tcp://127.0.0.1:*"}).value();
  std::size_t step = 0;
  for (auto _ : state) {
    publisher->publish(feed.follow(steps.deltas[step], *steps.index, 1.5));
    step = (step + 1) % steps.deltas.size();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["dropped"] = static_cast<double>(publisher->counts().dropped);
}

BENCHMARK(kv_events_feed)->ArgName("blocks")->Arg(1)->Arg(8)->Arg(64);
BENCHMARK(kv_events_feed_and_publish)->ArgName("blocks")->Arg(1)->Arg(8)->Arg(64);
BENCHMARK_CAPTURE(kv_events_feed_and_encode, map, KvEventFormat::map)
    ->ArgName("blocks")
    ->Arg(1)
    ->Arg(8)
    ->Arg(64);
BENCHMARK_CAPTURE(kv_events_feed_and_encode, array, KvEventFormat::array)
    ->ArgName("blocks")
    ->Arg(1)
    ->Arg(8)
    ->Arg(64);

}  // namespace
}  // namespace forge
