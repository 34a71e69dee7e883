// How much memory deciding takes: bytes per block and per sequence.
//
// Counts what operator new hands out and gets back, for the whole program (a word before each piece
// of memory remembers its size), so what the allocator itself wastes is not in it.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <new>

#include "forge/core/scheduler.h"
#include "null_executor.h"
#include "request_stream.h"

namespace {

std::size_t bytes_live = 0;
constexpr std::size_t kHeader = alignof(std::max_align_t);

}  // namespace

void* operator new(std::size_t size) {
  auto* memory = static_cast<unsigned char*>(std::malloc(size + kHeader));
  if (memory == nullptr) throw std::bad_alloc();
  *reinterpret_cast<std::size_t*>(memory) = size;
  bytes_live += size;
  return memory + kHeader;
}
void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  unsigned char* const start = static_cast<unsigned char*>(memory) - kHeader;
  bytes_live -= *reinterpret_cast<std::size_t*>(start);
  std::free(start);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace forge {
namespace {

SchedulerConfig config_of(std::uint32_t num_blocks, PrefixCacheKind kind) {
  return {.cache = {.num_blocks = num_blocks},
          .batch = {.max_batch_size = 4096, .max_batch_tokens = 1 << 20},
          .prefix_cache = kind};
}

/// Takes up every block with prompts of 64 blocks each, and forgets them again.
void fill(Scheduler& scheduler, bench::RequestStream& stream) {
  apps::NullExecutor executor(0);
  StepResult result;
  for (std::uint32_t i = 0; i < scheduler.config().cache.num_blocks / 64; ++i) {
    benchmark::DoNotOptimize(scheduler.submit(stream.next(0)));
    while (scheduler.has_work()) {
      const StepPlan& plan = scheduler.schedule();
      static_cast<void>(executor.execute(plan, result));  // never fails
      scheduler.commit(plan, result);
    }
  }
}

/// Blocks of 16 tokens, 64 of which are the tokens' ids if there is a prefix cache. Argument:
/// prefix cache.
void bytes_per_block(benchmark::State& state) {
  const auto kind = static_cast<PrefixCacheKind>(state.range(0));
  constexpr std::uint32_t kFew = 1 << 13;
  constexpr std::uint32_t kMany = 1 << 17;
  const auto bytes_with = [kind](std::uint32_t num_blocks) {
    const std::size_t before = bytes_live;
    Scheduler scheduler(config_of(num_blocks, kind));
    bench::RequestStream stream(
        {.common_tokens = 0, .own_tokens = 64 * 16, .new_tokens = 1, .mixed_priorities = false});
    fill(scheduler, stream);
    return static_cast<double>(bytes_live - before);
  };
  double per_block = 0;
  for (auto _ : state) per_block = (bytes_with(kMany) - bytes_with(kFew)) / (kMany - kFew);
  state.counters["bytes"] = per_block;
}
BENCHMARK(bytes_per_block)
    ->ArgName("cache")
    ->DenseRange(0, 2)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

/// 1000 sequences with prompts of 1024 tokens and room for 64 more, waiting or all running; token
/// ids take 4 bytes each if there is a prefix cache. Arguments: running, prefix cache.
void bytes_per_sequence(benchmark::State& state) {
  constexpr int kSequences = 1000;
  double bytes = 0;
  for (auto _ : state) {
    Scheduler scheduler(config_of(1 << 17, static_cast<PrefixCacheKind>(state.range(1))));
    bench::RequestStream stream({.common_tokens = 0, .own_tokens = 1024, .new_tokens = 64});
    apps::NullExecutor executor(0);
    StepResult result;
    const std::size_t before = bytes_live;
    for (int i = 0; i < kSequences; ++i) {
      benchmark::DoNotOptimize(scheduler.submit(stream.next(0)));
    }
    for (int step = 0; step < 32 && state.range(0) != 0; ++step) {
      const StepPlan& plan = scheduler.schedule();
      static_cast<void>(executor.execute(plan, result));  // never fails
      scheduler.commit(plan, result);
    }
    bytes = static_cast<double>(bytes_live - before) / kSequences;
  }
  state.counters["bytes"] = bytes;
}
BENCHMARK(bytes_per_sequence)
    ->ArgNames({"running", "cache"})
    ->ArgsProduct({{0, 1}, {0, 1}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace forge
