// What a GPU's step costs the host: an engine over a device that does nothing (gpu/null_device.h),
// sequences that decode. An iteration is a step: schedule, start, execute, commit. "executor_us" is
// the part of the executor. A CUDA runtime's own calls come on top (bench/cuda_steps.h).
#include <benchmark/benchmark.h>

#include "forge/core/must.h"
#include "forge/engine/engine.h"
#include "forge/gpu/gpu_executor.h"
#include "forge/linear/thread_pool.h"
#include "forge/reference/seeded_model.h"
#include "gpu/null_device.h"

namespace forge {
namespace {

constexpr std::uint32_t kContext = 2048;
constexpr std::uint32_t kNewTokens = 1024;
constexpr std::uint32_t kBlockSize = 16;

/// As many layers as Llama-3-8B has: of the size of anything else the host knows nothing.
constexpr reference::TinyConfig kModel{.layers = 32};

SchedulerConfig config_of(std::uint32_t batch) {
  return {.cache = {.num_blocks = batch * (kContext + kNewTokens) / kBlockSize,
                    .block_size = kBlockSize},
          .batch = {.max_batch_size = batch, .max_batch_tokens = 4096},
          .prefill_chunk_size = 4096,
          .prefix_cache = PrefixCacheKind::none};
}

/// Sequences that decode; new ones when these have ended.
class Decoding {
 public:
  Decoding(std::uint32_t batch, bool graphs)
      : batch_(batch), executor_(make(batch, graphs)), engine_(config_of(batch), *executor_) {
    refill();
  }

  /// Of a step that only decodes. False, and nothing done, if there is none.
  bool step() {
    if (!engine_.has_work()) return false;
    return engine_.step().plan.slices.size() == batch_;
  }
  void refill() {
    while (engine_.has_work()) engine_.step();
    for (std::uint32_t i = 0; i < batch_; ++i) {
      Request request{.prompt = std::vector<TokenId>(kContext, TokenId(1 + i)),
                      .max_new_tokens = kNewTokens,
                      .ignore_eos = true};
      must(engine_.submit(request));
    }
    // Prompts, and the first decodes, which capture graphs.
    for (std::uint32_t i = 0; i < batch_ * kContext / 4096 + 4; ++i) engine_.step();
  }
  const gpu::GpuStatistics& statistics() const { return executor_->statistics(); }

 private:
  std::unique_ptr<gpu::GpuExecutor> make(std::uint32_t batch, bool graphs) {
    linear::ThreadPool threads(1);
    const reference::SeededModel seeded(kModel, threads);
    const gpu::GpuModel model =
        gpu::GpuModel::of(seeded.config(), seeded.stored(), threads).value();
    const SchedulerConfig config = config_of(batch);
    return must(gpu::GpuExecutor::create(
        device_, model, {.cache = config.cache, .batch = config.batch}, {.graphs = graphs}));
  }

  std::uint32_t batch_;
  testing::NullDevice device_;
  std::unique_ptr<gpu::GpuExecutor> executor_;
  engine::Engine engine_;
};

/// Arguments: sequences, graphs.
void gpu_host_step(benchmark::State& state) {
  Decoding decoding(static_cast<std::uint32_t>(state.range(0)), state.range(1) != 0);
  double executor_us = 0;
  std::uint64_t steps = 0;
  for (auto _ : state) {
    const double before = decoding.statistics().host_us;
    if (!decoding.step()) {
      state.PauseTiming();
      decoding.refill();
      state.ResumeTiming();
      continue;
    }
    executor_us += decoding.statistics().host_us - before;
    ++steps;
  }
  state.counters["executor_us"] = executor_us / static_cast<double>(steps);
}
BENCHMARK(gpu_host_step)
    ->ArgNames({"sequences", "graphs"})
    ->ArgsProduct({{1, 16, 64, 256}, {0, 1}})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace forge
