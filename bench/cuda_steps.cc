#include "cuda_steps.h"

#include <chrono>

#include "cuda_clock.h"
#include "forge/core/scheduler.h"
#include "forge/gpu/gpu_executor.h"
#include "forge/reference/seeded_model.h"

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

/// Sequences that decode, with their scheduler.
class DecodingBatch {
 public:
  DecodingBatch(gpu::Device& device, const StepCase& step)
      : scheduler_(config_of(step)), executor_(executor_of(device, step)) {
    for (std::uint32_t i = 0; i < step.batch; ++i) {
      Request request{.max_new_tokens = kNewTokensMax, .ignore_eos = true};
      for (std::uint32_t t = 0; t < step.context; ++t) {
        request.prompt.emplace_back(1 + (i * 31 + t) % 256);
      }
      executor_->begin(*scheduler_.submit(request), request);
    }
  }

  /// One step. Returns the microseconds of execute().
  double step() {
    const StepPlan& plan = scheduler_.schedule();
    const auto begin = std::chrono::steady_clock::now();
    const auto done = executor_->execute(plan, result_);
    const auto end = std::chrono::steady_clock::now();
    FORGE_CHECK(done.has_value(), done.error().message);
    scheduler_.commit(plan, result_);
    return std::chrono::duration<double, std::micro>(end - begin).count();
  }

  /// Whether the last step sampled a token of every sequence.
  bool decodes() const {
    return std::all_of(result_.slices.begin(), result_.slices.end(),
                       [](const SliceResult& slice) { return slice.token_count == 1; });
  }
  const gpu::GpuStatistics& statistics() const { return executor_->statistics(); }

 private:
  static SchedulerConfig config_of(const StepCase& step) {
    const std::uint32_t blocks = (step.context + kNewTokensMax) / kBlockSize + 1;
    return {.cache = {.num_blocks = step.batch * blocks, .block_size = kBlockSize},
            .batch = {.max_batch_size = step.batch},
            .prefix_cache = PrefixCacheKind::none};
  }
  static executor::ExecutorOptions options_of(const StepCase& step) {
    const SchedulerConfig config = config_of(step);
    return {.cache = config.cache, .batch = config.batch, .check_kv = false};
  }

  static std::unique_ptr<gpu::GpuExecutor> executor_of(gpu::Device& device, const StepCase& step) {
    linear::ThreadPool threads(1);
    const reference::SeededModel seeded(step.model, threads);
    const gpu::GpuModel model =
        gpu::GpuModel::of(seeded.config(), seeded.stored(), threads).value();
    return must(gpu::GpuExecutor::create(device, model, options_of(step), {.graphs = step.graphs}));
  }

  Scheduler scheduler_;
  std::unique_ptr<gpu::GpuExecutor> executor_;
  StepResult result_;
};

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
  DecodingBatch batch(device, step);
  do {
    batch.step();
  } while (batch.statistics().steps < 2 || !batch.decodes());
  for (int i = 0; i < 4; ++i) batch.step();  // the first captures

  const double host_us = batch.statistics().host_us;
  std::vector<double> times;
  for (int i = 0; i < steps; ++i) times.push_back(batch.step());
  return {.step_us = median(times), .host_us = (batch.statistics().host_us - host_us) / steps};
}

nlohmann::ordered_json to_json(const StepCase& step, const StepTime& time) {
  return {{"model", step.model_name}, {"batch", step.batch},     {"context", step.context},
          {"graphs", step.graphs},    {"step_us", time.step_us}, {"host_us", time.host_us}};
}

}  // namespace forge
