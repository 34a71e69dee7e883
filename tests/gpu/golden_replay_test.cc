// One stack for all targets: for each family of tests/golden/models, what the CPU recorded with
// canonical numerics the simulated GPU answers: chunks, prefix hits, swaps, drafts of the model's
// first layers or of another model, logits bit for bit.
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
  return {.cache = {.num_blocks = 22, .block_size = 4, .num_host_blocks = 12},
          .batch = {.max_batch_size = 5, .max_batch_tokens = 24},
          .prefill_chunk_size = 9,
          .preemption = preemption};
}

/// Prompts that share beginnings, of several lengths and ways to sample, in too few blocks.
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
    if (i % 2 == 1) request.sampling.repetition_penalty = 1.3F;
    if (i % 4 == 0) request.sampling.top_p = 0.9F;
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
  return {.cache = s.cache,
          .batch = s.batch,
          .drafts = 3,
          .draft_layers = std::max(1, config.layers / 2),
          .digest_logits = true,
          .check_kv = true};
}

class GoldenReplay : public ::testing::TestWithParam<const char*> {
 protected:
  GoldenReplay() : model_(golden(GetParam())) {}

  static std::string golden(const std::string& name) {
    return std::string(FORGE_GOLDEN_MODELS "/") + name;
  }
  const model::ModelConfig& config() const { return model_.transformer.config(); }

  /// The trace of a run on the CPU, for which `draft` drafts or, if null, the first layers do.
  std::string recorded(PreemptionPolicy preemption, CanonicalModel* draft = nullptr) {
    const executor::ExecutorOptions options = options_of(config());
    const auto with_cache = [&](CanonicalModel& model) {
      return cpu::cpu_model(model.transformer, model.threads, options);
    };
    cpu::CpuExecutor cpu(options, with_cache(model_),
                         draft != nullptr ? with_cache(*draft) : nullptr);
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
    accepted_ += cpu.speculation().accepted;
    return text.str();
  }

  gpu::GpuModels gpu_models(const CanonicalModel* draft) const {
    gpu::GpuModels models(gpu::GpuModel::of(model_.transformer).value());
    if (draft != nullptr) models.draft = gpu::GpuModel::of(draft->transformer).value();
    return models;
  }

  /// A device that has so many bytes less than are asked of it.
  sim::SimDevice device_for(const gpu::GpuModels& models, std::uint64_t bytes_short) const {
    sim::DeviceDescription description = sim::find_device("h200").value();
    description.memory_bytes =
        gpu::GpuExecutor::memory(models, options_of(config())).device - bytes_short;
    return sim::SimDevice({.device = description});
  }

  void replay_on_sim(const std::string& recorded, const CanonicalModel* draft = nullptr) {
    const gpu::GpuModels models = gpu_models(draft);
    sim::SimDevice device = device_for(models, 0);
    auto executor = gpu::GpuExecutor::create(device, models, options_of(config()));
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
  std::uint64_t accepted_ = 0;
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
  EXPECT_GT(accepted_, 0U);
}

TEST_P(GoldenReplay, what_another_model_drafted_is_answered_too) {
  // Its KV and attention are of another shape where there is one.
  CanonicalModel other(golden(GetParam() == std::string("llama") ? "deepseek_v2_lite" : "llama"));
  for (CanonicalModel* draft : {&model_, &other}) {
    replay_on_sim(recorded(PreemptionPolicy::swap, draft), draft);
  }
  EXPECT_GT(events_.prefix_hits, 0);
  EXPECT_GT(events_.swaps_in, 0);
  EXPECT_GT(events_.drafts, 0);
  EXPECT_GT(accepted_, 0U);
}

TEST_P(GoldenReplay, a_byte_less_than_the_models_take_is_too_little) {
  const CanonicalModel* const drafts[] = {nullptr, &model_};
  for (const CanonicalModel* draft : drafts) {
    const gpu::GpuModels models = gpu_models(draft);
    sim::SimDevice device = device_for(models, 1);
    const auto executor = gpu::GpuExecutor::create(device, models, options_of(config()));
    ASSERT_FALSE(executor.has_value());
    EXPECT_NE(to_string(executor.error()).find("out of memory"), std::string::npos);
  }
}

TEST(GoldenModels, what_has_no_kernel_is_refused_by_name) {
  const auto refused = [](const char* name) {
    const CanonicalModel model(std::string(FORGE_GOLDEN_MODELS "/") + name);
    const auto of_gpu = gpu::GpuModel::of(model.transformer);
    return of_gpu ? "" : of_gpu.error();
  };
  EXPECT_EQ(refused("qwen2_moe"), "the shared experts have a gate, accepted on a GPU: none");
  EXPECT_EQ(refused("gpt_oss"), "the activation is clamped_swiglu, accepted on a GPU: silu");
  EXPECT_EQ(refused("gemma2"), "the activation is gelu_tanh, accepted on a GPU: silu");
}

/// Takes away what is refused first, so that each is seen.
TEST(GoldenModels, every_property_of_gpt_oss_that_has_no_kernel_is_refused) {
  const checkpoint::Checkpoint file =
      checkpoint::Checkpoint::open(FORGE_GOLDEN_MODELS "/gpt_oss").value();
  model::ModelConfig config = file.config();
  linear::ThreadPool threads(1);
  const auto refused = [&] {
    const model::Transformer transformer(config, pack(config, file.model(), threads).value());
    const auto of_gpu = gpu::GpuModel::of(transformer);
    return of_gpu ? "" : of_gpu.error();
  };
  config.activation = model::Activation::silu;
  EXPECT_EQ(refused(), "the heads of attention have sinks, accepted on a GPU: none");
  std::get<model::GroupedQueryConfig>(config.attention).sinks = false;
  EXPECT_EQ(refused(), "the router has biases, accepted on a GPU: none");
  config.experts->router_bias = false;
  EXPECT_EQ(refused(), "the experts have biases, accepted on a GPU: none");
}

INSTANTIATE_TEST_SUITE_P(Of, GoldenReplay,
                         ::testing::Values("llama", "llama/model.gguf", "llama3_rope", "mistral",
                                           "mistral_sliding", "qwen2", "qwen2/model.gguf", "qwen3",
                                           "olmo2", "granite", "tales", "llama_bf16", "qwen3_moe",
                                           "qwen3_moe_unnormed", "deepseek_v2_lite",
                                           "deepseek_v2_lite/model.gguf", "deepseek_v2",
                                           "deepseek_v3", "deepseek_v3/model.gguf", "llama_biases",
                                           "qwen2_windows", "mixtral", "smollm3", "phi3",
                                           "phi3_long", "olmo3", "glm4"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::ranges::replace_if(
                               name, [](char c) { return c == '/' || c == '.'; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace forge::testing
