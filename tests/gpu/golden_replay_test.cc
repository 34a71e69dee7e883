// One stack for all targets: for each family of tests/golden/models, what the CPU recorded with
// canonical numerics the simulated GPU answers: chunks, prefix hits, swaps, drafts, logits bit for
// bit.
#include <gtest/gtest.h>

#include <sstream>

#include "forge/checkpoint/checkpoint.h"
#include "forge/cpu/cpu_executor.h"
#include "forge/engine/engine.h"
#include "forge/gpu/gpu_executor.h"
#include "forge/linear/thread_pool.h"
#include "forge/sim/sim_device.h"
#include "forge/trace/replay.h"
#include "forge/trace/trace_header.h"
#include "forge/trace/trace_writer.h"
#include "sim/plan_events.h"

namespace forge::testing {
namespace {

using trace::TraceReader;

SchedulerConfig scheduler(PreemptionPolicy preemption) {
  return {.num_blocks = 22,
          .block_size = 4,
          .num_host_blocks = 12,
          .max_batch_size = 5,
          .max_batch_tokens = 24,
          .prefill_chunk_size = 9,
          .preemption = preemption};
}

/// Prompts that share beginnings, of several lengths and temperatures, in too few blocks.
std::vector<Request> crowded(int vocabulary) {
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < 9; ++i) {
    Request request;
    for (std::uint32_t k = 0; k < 11 + 7 * (i % 4); ++k) {
      const std::uint32_t token = k < 10 ? 3 * k + 1 : 31 * i + 7 * k;
      request.prompt.emplace_back(token % static_cast<std::uint32_t>(vocabulary));
    }
    request.max_new_tokens = 14 + 3 * (i % 5);
    request.sampling = {.temperature = i % 3 == 2 ? 0.8F : 0.0F, .seed = i};
    request.ignore_eos = true;
    requests.push_back(request);
  }
  return requests;
}

/// A checkpoint with its weights packed for canonical numerics.
struct CanonicalModel {
  explicit CanonicalModel(const std::string& path)
      : checkpoint(checkpoint::Checkpoint::open(path).value()),
        transformer(checkpoint.config(), pack(checkpoint.config(), checkpoint.model(), threads, {},
                                              linear::Numerics::canonical)
                                             .value()) {}

  checkpoint::Checkpoint checkpoint;
  linear::ThreadPool threads{1};
  model::Transformer transformer;
};

executor::ExecutorOptions options_of(const model::ModelConfig& config) {
  const SchedulerConfig s = scheduler(PreemptionPolicy::swap);
  return {.num_blocks = s.num_blocks,
          .block_size = s.block_size,
          .num_host_blocks = s.num_host_blocks,
          .max_batch_size = s.max_batch_size,
          .max_batch_tokens = s.max_batch_tokens,
          .drafts = 3,
          .draft_layers = std::max(1, config.layers / 2),
          .digest_logits = true};
}

class GoldenReplay : public ::testing::TestWithParam<const char*> {
 protected:
  GoldenReplay() : model_(std::string(FORGE_GOLDEN_MODELS "/") + GetParam()) {}

  const model::ModelConfig& config() const { return model_.transformer.config(); }

  /// The trace of a run on the CPU.
  std::string recorded(PreemptionPolicy preemption) {
    const executor::ExecutorOptions options = options_of(config());
    cpu::CpuExecutor cpu(options, cpu::cpu_model(model_.transformer, model_.threads, options));
    std::stringstream text;
    trace::TraceStream out(text);
    trace::TraceWriter writer(out, {.scheduler = scheduler(preemption)});
    engine::Engine engine(scheduler(preemption), cpu, &writer);
    for (const Request& request : crowded(config().vocabulary_size)) {
      EXPECT_TRUE(engine.submit(request));
      events_.count(engine.step().plan);
    }
    while (engine.has_work()) events_.count(engine.step().plan);
    engine.flush_trace();
    EXPECT_GT(cpu.speculation().accepted, 0U);
    return text.str();
  }

  /// On a device that has just the memory that is asked of it.
  void replay_on_sim(const std::string& recorded) {
    const auto gpu_model = gpu::GpuModel::of(model_.transformer);
    ASSERT_TRUE(gpu_model.has_value()) << gpu_model.error();
    sim::DeviceDescription description = sim::find_device("h200").value();
    description.memory_bytes = gpu::GpuExecutor::device_bytes(*gpu_model, options_of(config()));
    sim::SimDevice device({.device = description});
    auto executor = gpu::GpuExecutor::create(device, *gpu_model, options_of(config()));
    ASSERT_TRUE(executor.has_value()) << to_string(executor.error());
    std::istringstream text(recorded);
    auto reader = TraceReader::open(text);
    ASSERT_TRUE(reader.has_value());
    const auto report =
        replay(*reader, **executor, static_cast<std::uint32_t>(config().vocabulary_size));
    ASSERT_TRUE(report.has_value()) << to_string(report.error());
    ASSERT_FALSE(report->difference)
        << "step " << report->difference->step.value << ": "
        << to_string(report->difference->difference) << report->difference->target_error;
    EXPECT_GT(report->steps, 20U);
  }

  CanonicalModel model_;
  Events events_;
};

TEST_P(GoldenReplay, what_the_cpu_recorded_the_simulated_gpu_answers) {
  for (const PreemptionPolicy preemption : {PreemptionPolicy::swap, PreemptionPolicy::recompute}) {
    replay_on_sim(recorded(preemption));
  }
  EXPECT_GT(events_.chunks, 0);
  EXPECT_GT(events_.prefix_hits, 0);
  EXPECT_GT(events_.swaps_out, 0);
  EXPECT_GT(events_.swaps_in, 0);
  EXPECT_GT(events_.recomputes, 0);
  EXPECT_GT(events_.drafts, 0);
}

TEST_P(GoldenReplay, a_byte_less_than_the_model_takes_is_too_little) {
  const auto gpu_model = gpu::GpuModel::of(model_.transformer);
  ASSERT_TRUE(gpu_model.has_value()) << gpu_model.error();
  sim::DeviceDescription description = sim::find_device("h200").value();
  description.memory_bytes = gpu::GpuExecutor::device_bytes(*gpu_model, options_of(config())) - 1;
  sim::SimDevice device({.device = description});
  const auto executor = gpu::GpuExecutor::create(device, *gpu_model, options_of(config()));
  ASSERT_FALSE(executor.has_value());
  EXPECT_NE(to_string(executor.error()).find("out of memory"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Of, GoldenReplay,
                         ::testing::Values("llama", "llama/model.gguf", "llama3_rope", "mistral",
                                           "mistral_sliding", "qwen2", "qwen2/model.gguf", "qwen3",
                                           "olmo2", "granite", "tales", "llama_bf16", "qwen3_moe",
                                           "qwen3_moe_unnormed", "deepseek_v2_lite",
                                           "deepseek_v2_lite/model.gguf", "deepseek_v2",
                                           "deepseek_v3", "deepseek_v3/model.gguf"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::ranges::replace_if(
                               name, [](char c) { return c == '/' || c == '.'; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace forge::testing
