#include "cuda_steps.h"

#include "cuda_clock.h"
#include "forge/reference/seeded_model.h"
#include "running_batch.h"

namespace forge {
namespace {

constexpr std::uint32_t kBlockSize = 16;
constexpr std::uint32_t kNewTokensMax = 512;

/// 0.25 billion parameters, 1 GB.
constexpr reference::TinyConfig kLargeModel{.vocabulary_size = 32000,
                                            .hidden_size = 1024,
                                            .layers = 12,
                                            .heads = 16,
                                            .kv_heads = 4,
                                            .head_size = 64,
                                            .ffn_size = 4096};

SchedulerConfig config_of(const StepCase& step) {
  const std::uint32_t blocks = (step.context + kNewTokensMax) / kBlockSize + 1;
  return {.cache = {.num_blocks = step.batch * blocks, .block_size = kBlockSize},
          .batch = {.max_batch_size = step.batch},
          .prefix_cache = PrefixCacheKind::none};
}

std::unique_ptr<gpu::GpuExecutor> executor_of(gpu::Device& device, const StepCase& step) {
  linear::ThreadPool threads(1);
  const reference::SeededModel seeded(step.model, threads);
  const gpu::GpuModel model = gpu::GpuModel::of(seeded.config(), seeded.stored(), threads).value();
  const SchedulerConfig config = config_of(step);
  return must(gpu::GpuExecutor::create(
      device, model, {.cache = config.cache, .batch = config.batch, .check_kv = false},
      {.graphs = step.graphs}));
}

}  // namespace

std::vector<StepCase> step_cases() {
  std::vector<StepCase> cases;
  for (const bool large : {false, true}) {
    for (const std::uint32_t batch : {1u, 8u, 64u}) {
      for (const bool graphs : {false, true}) {
        cases.push_back({.model_name = large ? "large" : "default",
                         .model = large ? kLargeModel : reference::TinyConfig{},
                         .batch = batch,
                         .graphs = graphs});
      }
    }
  }
  return cases;
}

StepTime measure_steps(gpu::Device& device, const StepCase& step, int steps) {
  const auto executor = executor_of(device, step);
  const gpu::GpuStatistics& statistics = executor->statistics();
  RunningBatch batch(*executor, config_of(step));
  batch.submit({step.batch, step.context, kNewTokensMax});
  do {
    batch.step();
  } while (statistics.steps < 2 || !batch.decodes());
  for (int i = 0; i < 4; ++i) batch.step();  // the first captures

  const double host_us = statistics.host_us;
  std::vector<double> times;
  for (int i = 0; i < steps; ++i) times.push_back(batch.step().execute_us);
  return {.step_us = median(times), .host_us = (statistics.host_us - host_us) / steps};
}

nlohmann::ordered_json to_json(const StepCase& step, const StepTime& time) {
  return {{"model", step.model_name}, {"batch", step.batch},     {"context", step.context},
          {"graphs", step.graphs},    {"step_us", time.step_us}, {"host_us", time.host_us}};
}

}  // namespace forge
