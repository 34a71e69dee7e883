// What a step of a published model needs, whatever the kernels are.
#include "step_needs.h"

#include <gtest/gtest.h>

#include "bench_model.h"
#include "forge/model/stored_shapes.h"
#include "forge/model/weight_roles.h"

namespace forge {
namespace {

using quant::WeightType;

StepPlan plan_of(const std::vector<Slice>& slices) {
  StepPlan plan;
  plan.slices = slices;
  return plan;
}

constexpr std::uint64_t kParameters = 8030261248;
constexpr std::uint64_t kEmbedding = 128256 * 4096;  // as large as the head
constexpr std::uint64_t kNorms = 65 * 4096;

/// What a step of a published model needs.
StepNeeds published_needs(const char* name, WeightType weights, const StepPlan& plan) {
  const model::ModelConfig config = published_config(name);
  model::StoredModel shapes = model::model_shapes(config);
  model::for_each_weight(
      shapes,
      [&](const std::string&, linear::StoredLinear& matrix) {
        matrix.form = linear::StoredRows{weights, nullptr};
      },
      [](const std::string&, const std::vector<float>&) {});
  linear::ThreadPool threads(1);
  const auto model =
      gpu::GpuModel::of(config, shapes, threads, nullptr, gpu::GpuNumerics::fast).value();
  return needs_of(model, numerics::KvType::bf16, plan);
}

StepNeeds llama_needs(WeightType weights, const StepPlan& plan) {
  return published_needs("llama-3-8b", weights, plan);
}

/// Of two sequences.
StepPlan decode_plan() {
  return plan_of(
      {{.first = 2047, .count = 1, .samples = true}, {.first = 99, .count = 1, .samples = true}});
}

TEST(StepNeeds, of_llama_3_8b_are_those_of_its_published_size) {
  constexpr std::uint64_t kTokenBytes = 131072;
  const StepNeeds needs = llama_needs(WeightType::bf16, decode_plan());
  EXPECT_EQ(needs.weights, 2 * (kParameters - kEmbedding - kNorms));
  EXPECT_EQ(needs.norms, 4 * kNorms);
  EXPECT_EQ(needs.embedding, 2 * 4096 * 2);
  EXPECT_EQ(needs.kv_read, (2048 + 100) * kTokenBytes);
  EXPECT_EQ(needs.kv_written, 2 * kTokenBytes);
  const std::uint64_t attention = 4 * 32 * 4096;  // of a row with a key and its value
  EXPECT_EQ(needs.operations,
            2 * 2 * (kParameters - kEmbedding - kNorms) + (2048 + 100) * attention);

  // A chunk that does not end its prompt has nothing to do with the head.
  const StepNeeds chunk = llama_needs(WeightType::bf16, plan_of({{.first = 10, .count = 3}}));
  EXPECT_EQ(chunk.weights, needs.weights - 2 * kEmbedding);
  EXPECT_EQ(chunk.norms, needs.norms - 4 * 4096);
  EXPECT_EQ(chunk.kv_read, 13 * kTokenBytes);
  EXPECT_EQ(chunk.operations, 3 * chunk.weights + (11 + 12 + 13) * attention);
}

/// Of 30.5 billion parameters a token meets 3.35 billion, and of these 0.31 are the embedding.
TEST(StepNeeds, of_experts_are_those_that_rows_meet) {
  constexpr std::uint64_t kExpert = 3 * 768 * 2048;
  const auto one = plan_of({{.first = 9, .count = 1, .samples = true}});
  const StepNeeds of_one = published_needs("qwen3-30b-a3b", WeightType::bf16, one);
  constexpr std::uint64_t kVocabulary = 151936 * 2048;
  constexpr std::uint64_t kOthers = 48 * (2 * 32 * 128 * 2048 + 2 * 4 * 128 * 2048 + 128 * 2048);
  EXPECT_EQ(of_one.weights, 2 * (kVocabulary + kOthers + 48 * 8 * kExpert));
  EXPECT_EQ(of_one.operations, of_one.weights + std::uint64_t{10} * 48 * 4 * 32 * 128);
  const auto two = plan_of(
      {{.first = 9, .count = 1, .samples = true}, {.first = 9, .count = 1, .samples = true}});
  const StepNeeds of_two = published_needs("qwen3-30b-a3b", WeightType::bf16, two);
  EXPECT_EQ(of_two.weights - of_one.weights, 48 * kExpert * 15);  // 128 (1 - (15 / 16)^2) are 15.5
  EXPECT_EQ(of_two.operations, 2 * of_one.operations);
}

/// A token has 576 numbers in each of 27 layers; a row meets them in 16 heads, and 512 of them
/// twice.
TEST(StepNeeds, of_latents_are_those_of_their_rows) {
  const auto chunk = plan_of({{.first = 0, .count = 1}});
  const auto later = plan_of({{.first = 100, .count = 1}});
  const StepNeeds first = published_needs("deepseek-v2-lite", WeightType::bf16, chunk);
  const StepNeeds second = published_needs("deepseek-v2-lite", WeightType::bf16, later);
  EXPECT_EQ(first.kv_written, 27 * 576 * 2);
  EXPECT_EQ(second.kv_read - first.kv_read, 100 * 27 * 576 * 2);
  EXPECT_EQ(second.operations - first.operations, std::uint64_t{100} * 27 * 2 * 16 * (576 + 512));
}

/// Q8_0 as in a file, Q4_K with scales and minima of 8 bits (linear/linear_weights.h).
TEST(StepNeeds, of_codes_are_their_panels_and_the_same_operations) {
  const StepNeeds of_bf16 = llama_needs(WeightType::bf16, decode_plan());
  for (const auto& [type, block, block_bytes] :
       {std::tuple(WeightType::q8_0, 32U, 34U), {WeightType::q4_k, 256U, 148U}}) {
    StepNeeds expected = of_bf16;
    expected.weights = (kParameters - kEmbedding - kNorms) / block * block_bytes;
    expected.embedding = std::uint64_t{2} * 4096 / block * block_bytes;
    EXPECT_EQ(llama_needs(type, decode_plan()), expected) << name_of(type);
  }
}

TEST(LightUs, is_the_time_of_bytes_or_of_operations) {
  const BestRates rates{.copy_gb_per_s = 4000, .product_tflops = 800};
  EXPECT_DOUBLE_EQ(light_us({.weights = 8000000, .operations = 1600000}, rates).value(), 2);
  EXPECT_DOUBLE_EQ(light_us({.weights = 8000, .operations = 4000000000}, rates).value(), 5);
  EXPECT_EQ(light_us({.weights = 8000}, {.copy_gb_per_s = 4000}), std::nullopt);
}

}  // namespace
}  // namespace forge
