// What the simulated machine costs: a meeting of threads, a thread that never waits, and decode
// attention against a scalar loop that computes the same, plain, instrumented and checked.
#include <benchmark/benchmark.h>

#include <vector>

#include "forge/numerics/canonical.h"
#include "forge/simt/checker.h"
#include "forge/simt/machine.h"
#include "simt_bench_kernels.h"

namespace forge {
namespace {

using bench::BenchEntries;
using bench::DecodeArgs;
using bench::DoubleArgs;
using bench::MeetingArgs;

simt::KernelCode code(const char* name, simt::Entry BenchEntries::*kernel) {
  return {name, kernels::plain::bench_entries().*kernel,
          kernels::instrumented::bench_entries().*kernel};
}

/// Is told of everything and does nothing.
class Silent : public simt::Observer {
 public:
  std::unique_ptr<simt::BlockObserver> begin_block(const simt::LaunchShape&, long long) override {
    struct Nobody : simt::BlockObserver {
      void access(const simt::Access&) override {}
    };
    return std::make_unique<Nobody>();
  }
  void end_block(long long, std::unique_ptr<simt::BlockObserver>) override {}
};

/// Time of one thread's part of a meeting, which is a switch to the next thread. Arguments: threads
/// of the block, of_block, seeded.
void meeting(benchmark::State& state) {
  constexpr int kMeetings = 1000;
  const auto threads = static_cast<int>(state.range(0));
  const MeetingArgs args{kMeetings, state.range(1) != 0};
  simt::LaunchOptions options;
  if (state.range(2) != 0) options.seed = 1;
  const simt::KernelCode kernel = code("meet", &BenchEntries::meet);
  simt::Machine machine;
  for (auto _ : state) {
    if (!machine.run(kernel, {{1, 1, 1}, threads}, &args, options)) state.SkipWithError("fault");
  }
  state.counters["s/switch"] = benchmark::Counter(
      static_cast<double>(threads) * kMeetings,
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(meeting)->ArgsProduct({{32, 256, 1024}, {0, 1}, {0, 1}});

/// Time of a thread that returns without waiting.
void thread(benchmark::State& state) {
  constexpr int kBlocks = 64;
  std::vector<float> x(kBlocks * DoubleArgs::kThreads, 1.0f);
  std::vector<float> y(x.size());
  const DoubleArgs args{x.data(), y.data()};
  const simt::KernelCode kernel = code("twice", &BenchEntries::twice);
  simt::Machine machine;
  for (auto _ : state) {
    if (!machine.run(kernel, {{kBlocks, 1, 1}, DoubleArgs::kThreads}, &args)) {
      state.SkipWithError("fault");
    }
  }
  state.counters["s/thread"] = benchmark::Counter(
      static_cast<double>(x.size()),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(thread);

/// 8 sequences, 8 heads, 512 positions, head size 64.
struct Decode {
  static constexpr int kSequences = 8;
  static constexpr int kHeads = 8;
  static constexpr int kContext = 512;
  static constexpr int kTable = kContext / DecodeArgs::kBlockSize;

  std::vector<float> queries, keys, values, out;
  std::vector<int> tables;
  simt::MemoryMap memory;

  Decode() {
    const auto fill = [](std::vector<float>& x, std::size_t count) {
      x.resize(count);
      std::uint32_t state = 1;
      for (float& v : x) {
        state = state * 1664525u + 1013904223u;
        v = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-32f;
      }
    };
    constexpr std::size_t kRows = std::size_t{kSequences} * kHeads;
    fill(queries, kRows * DecodeArgs::kHeadSize);
    fill(keys, kRows * kContext * DecodeArgs::kHeadSize);
    fill(values, keys.size());
    out.resize(queries.size());
    for (int i = 0; i < kSequences * kTable; ++i) tables.push_back(kSequences * kTable - 1 - i);
    map(queries, "queries");
    map(keys, "keys");
    map(values, "values");
    map(out, "out");
    map(tables, "block_tables");
  }
  template <class T>
  void map(std::vector<T>& x, const char* name) {
    memory.add({reinterpret_cast<std::uintptr_t>(x.data()), x.size() * sizeof(T), name});
  }
  DecodeArgs args() {
    return {queries.data(), keys.data(), values.data(), tables.data(), out.data(), kContext};
  }
};

void decode_scalar(benchmark::State& state) {
  Decode d;
  constexpr int kHeadSize = DecodeArgs::kHeadSize;
  for (auto _ : state) {
    for (int row = 0; row < Decode::kSequences * Decode::kHeads; ++row) {
      const int* table = &d.tables[static_cast<std::size_t>(row / Decode::kHeads * Decode::kTable)];
      const float* q = &d.queries[static_cast<std::size_t>(row * kHeadSize)];
      float max = -1e30f;
      float sum = 0;
      float out[kHeadSize] = {};
      for (int position = 0; position < Decode::kContext; ++position) {
        const int block = table[position / DecodeArgs::kBlockSize];
        const int key = ((block * Decode::kHeads + row % Decode::kHeads) * DecodeArgs::kBlockSize +
                         position % DecodeArgs::kBlockSize) *
                        kHeadSize;
        float lanes[numerics::kLanes];
        for (int i = 0; i < numerics::kLanes; ++i) {
          const std::size_t at = static_cast<std::size_t>(key + i);
          lanes[i] = numerics::fma(q[i], d.keys[at], q[i + 32] * d.keys[at + 32]);
        }
        const float score = numerics::tree_sum(lanes);
        const float new_max = score > max ? score : max;
        const float scale = numerics::exp(max - new_max);
        const float weight = numerics::exp(score - new_max);
        max = new_max;
        sum = numerics::fma(sum, scale, weight);
        for (int i = 0; i < kHeadSize; ++i) {
          const float v = d.values[static_cast<std::size_t>(key + i)];
          out[i] = numerics::fma(weight, v, out[i] * scale);
        }
      }
      for (int i = 0; i < kHeadSize; ++i) {
        d.out[static_cast<std::size_t>(row * kHeadSize + i)] = out[i] / sum;
      }
    }
    benchmark::DoNotOptimize(d.out.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(decode_scalar)->Unit(benchmark::kMillisecond);

enum class Mode { plain, instrumented, checked };

void decode(benchmark::State& state, Mode mode, int host_threads) {
  Decode d;
  const DecodeArgs args = d.args();
  const simt::KernelCode kernel = code("decode", &BenchEntries::decode);
  simt::Machine machine(host_threads);
  for (auto _ : state) {
    Silent silent;
    simt::Checker checker(d.memory);
    simt::LaunchOptions options;
    if (mode == Mode::instrumented) options.observer = &silent;
    if (mode == Mode::checked) options.observer = &checker;
    if (!machine.run(kernel, {{Decode::kSequences, Decode::kHeads, 1}, 32}, &args, options)) {
      state.SkipWithError("fault");
    }
  }
}
BENCHMARK_CAPTURE(decode, plain, Mode::plain, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode, plain_2_threads, Mode::plain, 2)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(decode, instrumented, Mode::instrumented, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode, checked, Mode::checked, 1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace forge
