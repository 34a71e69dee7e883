// Attention of the query heads of one token on one thread: the rate of its fused operations, two
// for each component of a key and two for each of a value. Up to 1024 keys lie in a cache of the
// CPU, 131072 do not.
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

template <class Stored>
std::vector<Stored> random_numbers(std::size_t count) {
  std::vector<Stored> out;
  for (const float x : random_floats(count)) out.push_back(stored<Stored>(x));
  return out;
}

template <class Stored>
void measure(benchmark::State& state, int heads, int head_size) {
  constexpr int kBlockSize = 16;
  const auto context = static_cast<int>(state.range(0));
  const int blocks = (context + kBlockSize - 1) / kBlockSize;
  std::vector<std::uint32_t> table(static_cast<std::size_t>(blocks));
  std::iota(table.begin(), table.end(), 0U);
  const int block_numbers = 2 * kBlockSize * head_size;
  const auto pool = random_numbers<Stored>(static_cast<std::size_t>(blocks) * block_numbers);
  const auto q = random_floats(static_cast<std::size_t>(heads) * head_size);
  const PagedKV kv{.keys = pool.data(),
                   .values = pool.data() + kBlockSize * head_size,
                   .block_stride = block_numbers,
                   .block_size = kBlockSize,
                   .head_size = head_size,
                   .blocks = table,
                   .length = context,
                   .type = kKvTypeOf<Stored>};
  const QueryGroup group{q.data(), heads, 1 / std::sqrt(static_cast<float>(head_size))};
  std::vector<float> out(q.size());
  for (auto _ : state) {
    attend(group, kv, out.data());
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["op/s"] = benchmark::Counter(4.0 * heads * head_size * context,
                                              benchmark::Counter::kIsIterationInvariantRate);
}

template <class Stored>
void add_attention(int heads, int head_size) {
  const std::string name = "attention/" + std::to_string(heads) + "x" + std::to_string(head_size) +
                           "/" + std::string(name_of(kKvTypeOf<Stored>));
  benchmark::RegisterBenchmark(
      name.c_str(), [=](benchmark::State& state) { measure<Stored>(state, heads, head_size); })
      ->ArgName("keys")
      ->Arg(24)
      ->Arg(256)
      ->Arg(1024)
      ->Arg(131072);
}

template <class Stored>
void add_shapes() {
  add_attention<Stored>(1, 128);
  add_attention<Stored>(4, 64);
  add_attention<Stored>(4, 128);
  add_attention<Stored>(7, 128);
}

const bool kAttentionAdded = (add_shapes<float>(), add_shapes<BF16>(), add_shapes<F16>(), true);

}  // namespace
}  // namespace forge::numerics
