// Attention of the query heads of one token on one thread: the rate of its fused operations, two
// for each component of a key and two for each of a value, with the keys and values in the cache.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "forge/numerics/attention.h"
#include "forge/numerics/philox.h"

namespace forge::numerics {
namespace {

std::vector<float> random_floats(std::size_t count) {
  std::vector<float> out(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    out[i] = uniform_open(philox({{i, 0, 0, 0}}, 1).x[0]) - 0.5F;
  }
  return out;
}

void measure(benchmark::State& state, int heads, int head_size) {
  constexpr int kBlockSize = 16;
  const auto context = static_cast<int>(state.range(0));
  const int blocks = (context + kBlockSize - 1) / kBlockSize;
  std::vector<std::uint32_t> table(static_cast<std::size_t>(blocks));
  std::iota(table.begin(), table.end(), 0U);
  const int block_floats = 2 * kBlockSize * head_size;
  const auto pool = random_floats(static_cast<std::size_t>(blocks) * block_floats);
  const auto q = random_floats(static_cast<std::size_t>(heads) * head_size);
  const PagedKV kv{.keys = pool.data(),
                   .values = pool.data() + kBlockSize * head_size,
                   .block_stride = block_floats,
                   .block_size = kBlockSize,
                   .head_size = head_size,
                   .blocks = table,
                   .length = context};
  const QueryGroup group{q.data(), heads, 1 / std::sqrt(static_cast<float>(head_size))};
  std::vector<float> out(q.size());
  for (auto _ : state) {
    attend(group, kv, out.data());
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["op/s"] = benchmark::Counter(4.0 * heads * head_size * context,
                                              benchmark::Counter::kIsIterationInvariantRate);
}

void add_attention(int heads, int head_size) {
  const std::string name = "attention/" + std::to_string(heads) + "x" + std::to_string(head_size);
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& state) { measure(state, heads, head_size); })
      ->ArgName("keys")
      ->Arg(24)
      ->Arg(256)
      ->Arg(1024);
}

const bool kAttentionAdded = (add_attention(1, 128), add_attention(4, 64), add_attention(4, 128),
                              add_attention(7, 128), true);

}  // namespace
}  // namespace forge::numerics
