// One stack for all targets: for each family of tests/golden/models, what the CPU recorded with
// canonical numerics the simulated GPU answers: chunks, prefix hits, swaps, drafts of the model's
// first layers or of another model, logits bit for bit.
#include <gtest/gtest.h>

#include "forge/checkpoint/checkpoint.h"
#include "forge/gpu/gpu_executor.h"
#include "forge/linear/thread_pool.h"
#include "gpu/replay_world.h"

namespace forge::testing {
namespace {

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

/// One of no larger vocabulary, whose KV and attention are of another shape where there is one.
std::string other_model(const std::string& name) {
  if (name.find("/quantized/") != name.npos) return "../quantized/packed_8_zeros";
  return name == "llama" ? "deepseek_v2_lite" : "llama";
}

class GoldenReplay : public ::testing::TestWithParam<const char*> {
 protected:
  GoldenReplay() : model_(golden(GetParam())) {}

  static std::string golden(const std::string& name) {
    return std::string(FORGE_GOLDEN_MODELS "/") + name;
  }
  const model::ModelConfig& config() const { return model_.transformer.config(); }

  /// The trace of a run on the CPU, for which `draft` drafts or, if null, the first layers do.
  std::string recorded(PreemptionPolicy preemption, const CanonicalModel* draft = nullptr) {
    const CpuRun run =
        run_on_cpu(model_.transformer, draft != nullptr ? &draft->transformer : nullptr, preemption,
                   model_.threads);
    events_.add(run.events);
    accepted_ += run.accepted;
    return run.trace;
  }

  gpu::GpuModels gpu_models(const CanonicalModel* draft = nullptr) const {
    gpu::GpuModels models(gpu::GpuModel::of(model_.transformer).value());
    if (draft != nullptr) models.draft = gpu::GpuModel::of(draft->transformer).value();
    return models;
  }

  CanonicalModel model_;
  Events events_;
  std::uint64_t accepted_ = 0;
};

TEST_P(GoldenReplay, what_the_cpu_recorded_the_simulated_gpu_answers) {
  for (const PreemptionPolicy preemption : {PreemptionPolicy::swap, PreemptionPolicy::recompute}) {
    expect_replayed(recorded(preemption), gpu_models());
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
  CanonicalModel other(golden(other_model(GetParam())));
  for (CanonicalModel* draft : {&model_, &other}) {
    expect_replayed(recorded(PreemptionPolicy::swap, draft), gpu_models(draft));
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
    const auto executor = gpu::GpuExecutor::create(device, models, replay_options(config()));
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

std::string name_of_path(const ::testing::TestParamInfo<const char*>& instance) {
  std::string name = instance.param;
  std::ranges::replace_if(
      name, [](char c) { return c == '/' || c == '.'; }, '_');
  return name;
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
                         name_of_path);

INSTANTIATE_TEST_SUITE_P(Quantized, GoldenReplay,
                         ::testing::Values("../lora/llama_q8_0.gguf", "../quantized/fp8_blocks",
                                           "../quantized/gptq_4", "../quantized/gptq_8",
                                           "../quantized/gptq_v2_4_ordered",
                                           "../quantized/gptq_v2_8", "../quantized/packed_4",
                                           "../quantized/packed_4_zeros", "../quantized/packed_8",
                                           "../quantized/fp8_rows_fused",
                                           "../quantized/gptq_4_fused"),
                         name_of_path);

}  // namespace
}  // namespace forge::testing
