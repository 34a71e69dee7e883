// Models of codes on all targets: whatever type a model's weights have, what the CPU recorded with
// canonical numerics a GPU answers, simulated or real, logits bit for bit.
#include <gtest/gtest.h>

#include "gpu/replay_world.h"
#include "linear/code_layers.h"
#include "model/stored_weights.h"

namespace forge::testing {
namespace {

using quant::WeightType;

model::Transformer packed(const model::ModelConfig& config, const model::StoredModel& stored) {
  linear::ThreadPool threads(1);
  return {config, pack(config, stored, threads, {linear::Numerics::canonical}).value()};
}

/// What the CPU runs of the model, the GPU answers.
void expect_equal_on_both(Replayer replayer, const model::ModelConfig& config,
                          const model::StoredModel& stored) {
  linear::ThreadPool threads(1);
  const model::Transformer model = packed(config, stored);
  const CpuRun run = run_on_cpu(model, nullptr, threads, {.requests = 5});
  EXPECT_GT(run.events.chunks, 0);
  EXPECT_GT(run.events.swaps_in, 0);
  EXPECT_GT(run.events.drafts, 0);
  expect_replayed(replayer, run.trace, gpu::GpuModel::of(config, stored, threads).value());
}

class CodedReplay : public ::testing::TestWithParam<std::tuple<WeightType, Replayer>> {
 protected:
  void SetUp() override {
    if (const std::string why = missing(replayer()); !why.empty()) GTEST_SKIP() << why;
  }
  Replayer replayer() const { return std::get<Replayer>(GetParam()); }
  void expect(const model::ModelConfig& config) const {
    StoredWeights weights;
    expect_equal_on_both(replayer(), config,
                         weights.random(config, std::get<WeightType>(GetParam())));
  }
};

TEST_P(CodedReplay, dense) { expect(wide_llama()); }

std::vector<WeightType> types_of_rows() {
  std::vector<WeightType> types(quant::kWeightTypes.begin(), quant::kWeightTypes.end());
  std::erase(types, WeightType::i8);  // whose scales are elsewhere
  return types;
}
std::string coded_name(const ::testing::TestParamInfo<std::tuple<WeightType, Replayer>>& of) {
  return std::string(name_of(std::get<Replayer>(of.param))) + "_" +
         std::string(name_of(std::get<WeightType>(of.param)));
}
INSTANTIATE_TEST_SUITE_P(Of, CodedReplay,
                         ::testing::Combine(::testing::ValuesIn(types_of_rows()),
                                            ::testing::ValuesIn(kReplayers)),
                         coded_name);

/// Codes with and without minima, with scales of halves, and of a table.
class CodedArchitecture : public CodedReplay {};

TEST_P(CodedArchitecture, tied_head) {
  model::ModelConfig config = wide_llama();
  config.tied_head = true;
  expect(config);
}

TEST_P(CodedArchitecture, experts) { expect(wide_experts()); }
TEST_P(CodedArchitecture, experts_with_sinks_and_biases) { expect(wide_sinks()); }
TEST_P(CodedArchitecture, latents_and_shared_experts) { expect(wide_latent()); }

INSTANTIATE_TEST_SUITE_P(Of, CodedArchitecture,
                         ::testing::Combine(::testing::Values(WeightType::q8_0, WeightType::q4_k,
                                                              WeightType::q2_k, WeightType::iq4_nl),
                                            ::testing::ValuesIn(kReplayers)),
                         coded_name);

std::vector<model::StoredMlp>& experts_of(model::StoredModel& stored) {
  return std::get<model::StoredExperts>(stored.layers[1].mlp).experts;
}

class MixedReplay : public ::testing::TestWithParam<Replayer> {
 protected:
  void SetUp() override {
    if (const std::string why = missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
};
INSTANTIATE_TEST_SUITE_P(Of, MixedReplay, ::testing::ValuesIn(kReplayers),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

TEST_P(MixedReplay, gate_and_up_of_experts_may_be_of_two_types) {
  const model::ModelConfig config = wide_sinks();  // with biases, of both
  StoredWeights weights;
  model::StoredModel stored = weights.random(config, WeightType::q4_k);
  model::StoredModel other = weights.random(config, WeightType::q6_k);
  for (std::size_t e = 0; e < experts_of(stored).size(); ++e) {
    experts_of(stored)[e].up = experts_of(other)[e].up;
  }
  expect_equal_on_both(GetParam(), config, stored);
}

TEST_P(MixedReplay, an_embedding_of_floats_of_8_bits_is_widened) {
  const model::ModelConfig config = wide_llama();
  StoredWeights weights;
  model::StoredModel stored = weights.random(config, WeightType::q8_0);
  const auto rows = static_cast<std::size_t>(stored.embedding.outputs);
  const auto width = static_cast<std::size_t>(stored.embedding.inputs);
  std::vector<std::byte> codes(rows * width);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::byte>(i * 37 % 0x60);
  std::vector<float> scales(rows);
  for (std::size_t row = 0; row < rows; ++row) scales[row] = 0.3F + 0.01F * static_cast<float>(row);
  stored.embedding.form = linear::StoredFloat8{codes.data(), scales, 1, static_cast<int>(width)};
  expect_equal_on_both(GetParam(), config, stored);
}

class GpuModel : public ::testing::Test {
 protected:
  static std::string refused(const model::ModelConfig& config, const model::StoredModel& stored) {
    linear::ThreadPool threads(1);
    const auto of_gpu = gpu::GpuModel::of(config, stored, threads);
    return of_gpu ? "" : of_gpu.error();
  }

  std::unique_ptr<linear::CodeLayer> square(linear::Form form) const {
    return linear::code_layer({.form = form, .outputs = 256, .inputs = 256});
  }

  StoredWeights weights_;
  const model::ModelConfig config_ = wide_experts();
  model::StoredModel stored_ = weights_.random(config_, WeightType::q4_k);
};

TEST_F(GpuModel, refuses_experts_of_several_types) {
  const auto other = square(linear::Form::q8_0);
  experts_of(stored_)[2].down = other->linear;
  EXPECT_EQ(refused(config_, stored_),
            "the weights' types of the experts differ, accepted on a GPU: the same for all");
}

TEST_F(GpuModel, refuses_experts_and_embeddings_in_act_order) {
  const auto ordered = square(linear::Form::gptq_act_order);
  for (model::StoredMlp& expert : experts_of(stored_)) expert.down = ordered->linear;
  EXPECT_EQ(refused(config_, stored_),
            "the experts have inputs in an order of their own (act-order), accepted on a GPU: the "
            "usual one");
  const auto embedding = linear::code_layer({.form = linear::Form::gptq_act_order,
                                             .outputs = config_.vocabulary_size,
                                             .inputs = config_.hidden_size});
  stored_.embedding = embedding->linear;
  EXPECT_EQ(refused(config_, stored_),
            "the embedding has inputs in an order of its own (act-order), accepted on a GPU: the "
            "usual one");
}

}  // namespace
}  // namespace forge::testing
