// Which models fast numerics take, and what is queued for them, on a device that runs nothing.
#include <gtest/gtest.h>

#include "forge/gpu/gpu_executor.h"
#include "forge/gpu/kernels.h"
#include "gpu/fast_models.h"
#include "gpu/null_device.h"
#include "linear/code_layers.h"
#include "model/stored_weights.h"

namespace forge::testing {
namespace {

using numerics::KvType;
using quant::WeightType;

// ---- Shapes -------------------------------------------------------------------------------------

TEST(FastShapes, models_of_other_shapes_are_refused_by_what_they_have) {
  const auto refused = [](model::ModelConfig config, WeightType type) {
    FastModel model(std::move(config), type);
    linear::ThreadPool threads(1);
    const auto made =
        gpu::GpuModel::of(model.config(), model.stored(), threads, nullptr, gpu::GpuNumerics::fast);
    return made ? std::string() : made.error();
  };
  const model::ModelConfig llama = fast_shape("llama").config;
  EXPECT_EQ(refused(llama, WeightType::bf16), "");
  EXPECT_EQ(refused(llama, WeightType::f32),
            "weights of f32, accepted with fast numerics: bf16, f16, codes");
  EXPECT_EQ(refused(wide_llama(), WeightType::q8_0), "");
  EXPECT_EQ(refused(wide_experts(), WeightType::q8_0), "");
  EXPECT_EQ(refused(wide_latent(), WeightType::bf16), "");
  EXPECT_EQ(refused(wide_experts(), WeightType::bf16), "");
  model::ModelConfig odd = llama;
  std::get<model::GroupedQueryConfig>(odd.attention).head_size = 24;
  odd.rope.size = 24;
  EXPECT_EQ(refused(odd, WeightType::bf16),
            "head size 24, accepted with fast numerics: a multiple of 16");
  odd = fast_shape("latent").config;
  auto& latent = std::get<model::LatentConfig>(odd.attention);
  latent.kv_rank = 48;
  EXPECT_EQ(refused(odd, WeightType::bf16),
            "latent and RoPE size 56, accepted with fast numerics: a multiple of 16");
  latent.kv_rank = 520;
  EXPECT_EQ(refused(odd, WeightType::bf16),
            "latent size 520, accepted with fast numerics: up to 512");
  latent.kv_rank = 40;
  latent.nope_size = 20;
  EXPECT_EQ(refused(odd, WeightType::bf16),
            "key size without RoPE 20, accepted with fast numerics: a multiple of 8");
  latent.nope_size = 24;
  latent.value_size = 12;
  EXPECT_EQ(refused(odd, WeightType::bf16),
            "value size of all heads 36, accepted with fast numerics: a multiple of 8");
  odd = llama;
  odd.hidden_size = 76;
  EXPECT_EQ(refused(odd, WeightType::bf16),
            "hidden size 76, accepted with fast numerics: a multiple of 8");
  odd = llama;
  odd.ffn_size = 100;
  EXPECT_EQ(refused(odd, WeightType::bf16),
            "inner size of the MLP 100, accepted with fast numerics: a multiple of 8");
  odd = fast_shape("shared_moe").config;
  odd.experts->expert_size = 20;
  EXPECT_EQ(refused(odd, WeightType::bf16),
            "inner size of an expert 20, accepted with fast numerics: a multiple of 8");
  odd.experts->expert_size = 24;
  odd.experts->shared_size = 12;
  EXPECT_EQ(refused(odd, WeightType::bf16),
            "inner size of the shared experts 12, accepted with fast numerics: a multiple of 8");
}

/// Whose gates and ups are panels of their own, and of one kind.
TEST(FastShapes, codes_are_refused_whose_gates_and_ups_share_panels) {
  model::ModelConfig config = wide_llama();
  StoredWeights weights;
  model::StoredModel stored = weights.random(config, WeightType::q8_0);
  linear::ThreadPool threads(1);
  const auto error = [&] {
    return gpu::GpuModel::of(config, stored, threads, nullptr, gpu::GpuNumerics::fast).error();
  };
  const auto wide = linear::code_layer({.form = linear::Form::int8, .outputs = 264, .inputs = 256});
  const auto down = linear::code_layer({.form = linear::Form::int8, .outputs = 256, .inputs = 264});
  config.ffn_size = 264;
  for (model::StoredLayer& layer : stored.layers) {
    auto& mlp = std::get<model::StoredMlp>(layer.mlp);
    mlp.gate = mlp.up = wide->linear;
    mlp.down = down->linear;
  }
  EXPECT_EQ(error(),
            "inner size of the MLP 264, accepted with fast numerics: with codes a multiple of 32");
  config = wide_llama();
  stored = weights.random(config, WeightType::q8_0);
  for (const WeightType type : {WeightType::q4_k, WeightType::bf16}) {
    const model::StoredModel other = weights.random(config, type);
    const char* const refusal =
        "gates and ups of different kinds, or orders of inputs, accepted with fast numerics: the "
        "same for both";
    auto& mlp = std::get<model::StoredMlp>(stored.layers[0].mlp);
    const linear::StoredLinear gate = mlp.gate;
    mlp.gate = std::get<model::StoredMlp>(other.layers[0].mlp).gate;
    EXPECT_EQ(error(), refusal) << "the gate is of " << name_of(type);
    std::swap(mlp.gate, mlp.up);
    EXPECT_EQ(error(), refusal) << "the up is of " << name_of(type);
    mlp.gate = mlp.up = gate;
  }
}

/// As those of dense layers.
TEST(FastShapes, codes_of_experts_are_refused_whose_gates_and_ups_share_panels) {
  model::ModelConfig config = wide_experts();
  StoredWeights weights;
  model::StoredModel stored = weights.random(config, WeightType::q8_0);
  linear::ThreadPool threads(1);
  const auto error = [&] {
    return gpu::GpuModel::of(config, stored, threads, nullptr, gpu::GpuNumerics::fast).error();
  };
  const model::StoredModel other = weights.random(config, WeightType::q4_k);
  auto& experts = std::get<model::StoredExperts>(stored.layers[1].mlp).experts;
  for (model::StoredMlp& expert : experts) {
    expert.up = std::get<model::StoredExperts>(other.layers[1].mlp).experts.front().up;
  }
  EXPECT_EQ(error(),
            "gates and ups of different kinds, or orders of inputs, accepted with fast numerics: "
            "the same for both");
  const auto wide = linear::code_layer({.form = linear::Form::int8, .outputs = 264, .inputs = 256});
  const auto down = linear::code_layer({.form = linear::Form::int8, .outputs = 256, .inputs = 264});
  config.experts->expert_size = 264;
  for (model::StoredMlp& expert : experts) {
    expert.gate = expert.up = wide->linear;
    expert.down = down->linear;
  }
  EXPECT_EQ(
      error(),
      "inner size of an expert 264, accepted with fast numerics: with codes a multiple of 32");
}

/// As GGUF has routers, beside experts of 16 bits: it is rounded to them. Other floats are not.
TEST(FastShapes, a_router_of_floats_is_taken_and_no_other_matrix_of_them) {
  const model::ModelConfig config = fast_shape("qwen_moe").config;
  StoredWeights weights;
  model::StoredModel stored = weights.random(config, WeightType::bf16);
  auto& router = std::get<model::StoredExperts>(stored.layers[1].mlp).router;
  const std::vector<float> rows(
      static_cast<std::size_t>(router.outputs) * static_cast<std::size_t>(router.inputs), 0.5F);
  router = weights.matrix(router.outputs, router.inputs, rows, WeightType::f32);
  linear::ThreadPool threads(1);
  EXPECT_TRUE(gpu::GpuModel::of(config, stored, threads, nullptr, gpu::GpuNumerics::fast));
  auto& output = std::get<model::StoredGroupedQuery>(stored.layers[1].attention).output;
  const std::vector<float> floats(
      static_cast<std::size_t>(output.outputs) * static_cast<std::size_t>(output.inputs), 0.5F);
  output = weights.matrix(output.outputs, output.inputs, floats, WeightType::f32);
  const auto made = gpu::GpuModel::of(config, stored, threads, nullptr, gpu::GpuNumerics::fast);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error(), "weights of f32, accepted with fast numerics: bf16, f16, codes");
}

TEST(FastShapes, two_types_of_16_bits_are_refused) {
  const model::ModelConfig config = fast_shape("llama").config;
  StoredWeights weights;
  model::StoredModel stored = weights.random(config, WeightType::bf16);
  stored.head = weights.random(config, WeightType::f16).head;
  linear::ThreadPool threads(1);
  const auto made = gpu::GpuModel::of(config, stored, threads, nullptr, gpu::GpuNumerics::fast);
  ASSERT_FALSE(made);
  EXPECT_EQ(
      made.error(),
      "weights of bf16_rows and of f16_rows, accepted with fast numerics: one type of 16 bits "
      "for all");
}

// ---- Launches -----------------------------------------------------------------------------------

/// Has a device without kernels asked for one step, of a prompt of so many tokens.
void ask(NullDevice& device, FastModel& model, std::uint32_t prompt, bool overlap = true) {
  executor::ExecutorOptions options{.cache = {.num_blocks = 1, .block_size = prompt},
                                    .batch = {.max_batch_size = 1, .max_batch_tokens = prompt},
                                    .draft_layers = 1,
                                    .kv_type = KvType::bf16};
  const auto executor = gpu::GpuExecutor::create(device, model.on_gpu(), options,
                                                 {.graphs = false, .overlap = overlap})
                            .value();
  executor->begin(SeqId(1), {.prompt = std::vector(prompt, TokenId(1)), .max_new_tokens = 1});
  StepPlan plan{.appended_blocks = {BlockId(0)}};
  plan.admitted.push_back({SeqId(1), 0});
  plan.tables.push_back({SeqId(1), 0, 0, 1});
  plan.slices.push_back({SeqId(1), 0, prompt, 0, true});
  StepResult result;
  EXPECT_TRUE(executor->execute(plan, result));
}

TEST(FastShapes, overlap_launches_unless_told_not_to) {
  FastModel model(fast_shape("llama").config, WeightType::bf16);
  const auto overlapping = [&](bool overlap) {
    NullDevice device;
    ask(device, model, 1, overlap);
    return device.overlapping;
  };
  const std::uint64_t layers = static_cast<std::uint64_t>(model.config().layers);
  EXPECT_EQ(overlapping(true), 6 * layers + 3) << "first rows, rows with logits, head";
  EXPECT_EQ(overlapping(false), 0U);
}

/// Of all layers: a dense one, and one of experts. In place of the two products of an MLP that has
/// the router, its choices, their plan, two products of experts and two of the shared ones, and the
/// sum.
TEST(FastShapes, take_six_launches_for_experts_and_two_for_shared_ones) {
  FastModel model(fast_shape("shared_moe").config, WeightType::bf16);
  NullDevice device;
  ask(device, model, 1);
  EXPECT_EQ(device.overlapping, 6U + (4U + 6U + 2U) + 3U);
}

/// By how many there are: 4 are few, more are many.
TEST(FastShapes, multiply_experts_by_the_kernel_for_so_many_rows) {
  FastModel model(fast_shape("qwen_moe").config, WeightType::bf16);
  const auto launches = [&](std::uint32_t prompt) {
    NullDevice device;
    ask(device, model, prompt);
    using enum gpu::KernelId;
    const auto of = [&](gpu::KernelId kernel) {
      return device.launches_of[static_cast<std::size_t>(kernel)];
    };
    return std::pair(of(project_experts_narrow), of(project_experts_wide));
  };
  const auto layers = static_cast<std::uint64_t>(model.config().layers);
  EXPECT_EQ(launches(1), std::pair(2 * layers, std::uint64_t{0}));
  EXPECT_EQ(launches(4), std::pair(2 * layers, std::uint64_t{0}));
  EXPECT_EQ(launches(5), std::pair(std::uint64_t{0}, 2 * layers));
}

}  // namespace
}  // namespace forge::testing
