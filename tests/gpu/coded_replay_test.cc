// Models of codes on both targets: whatever type a model's weights have, what the CPU recorded with
// canonical numerics the simulated GPU answers, logits bit for bit.
#include <gtest/gtest.h>

#include "gpu/replay_world.h"
#include "linear/code_layers.h"
#include "model/stored_weights.h"

namespace forge::testing {
namespace {

using quant::WeightType;

class CodedReplay : public ::testing::TestWithParam<WeightType> {
 protected:
  void expect(const model::ModelConfig& config) {
    StoredWeights weights;
    const model::StoredModel stored = weights.random(config, GetParam());
    const model::Transformer model(
        config, pack(config, stored, threads_, {}, linear::Numerics::canonical).value());
    const CpuRun run = run_on_cpu(model, nullptr, PreemptionPolicy::swap, threads_, 5);
    EXPECT_GT(run.events.chunks, 0);
    EXPECT_GT(run.events.swaps_in, 0);
    EXPECT_GT(run.events.drafts, 0);
    expect_replayed(run.trace, gpu::GpuModel::of(model).value());
  }

  linear::ThreadPool threads_{1};
};

TEST_P(CodedReplay, dense) { expect(wide_llama()); }

std::vector<WeightType> types_of_rows() {
  std::vector<WeightType> types(quant::kWeightTypes.begin(), quant::kWeightTypes.end());
  std::erase(types, WeightType::i8);  // whose scales are elsewhere
  return types;
}
std::string type_name(const ::testing::TestParamInfo<WeightType>& type) {
  return std::string(name_of(type.param));
}
INSTANTIATE_TEST_SUITE_P(Of, CodedReplay, ::testing::ValuesIn(types_of_rows()), type_name);

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
                         ::testing::Values(WeightType::q8_0, WeightType::q4_k, WeightType::q2_k,
                                           WeightType::iq4_nl),
                         type_name);

/// The experts of wide_experts(), of which one has another matrix that goes down.
std::string refused(const linear::StoredLinear& down) {
  StoredWeights weights;
  const model::ModelConfig config = wide_experts();
  model::StoredModel stored = weights.random(config, WeightType::q4_k);
  std::get<model::StoredExperts>(stored.layers[1].mlp).experts[2].down = down;
  linear::ThreadPool threads(1);
  const model::Transformer model(config, pack(config, stored, threads).value());
  const auto of_gpu = gpu::GpuModel::of(model);
  return of_gpu ? "" : of_gpu.error();
}

TEST(GpuModel, refuses_experts_of_several_types_or_in_act_order_by_name) {
  const linear::LayerSpec spec{.form = linear::Form::q8_0, .outputs = 256, .inputs = 256};
  EXPECT_EQ(refused(code_layer(spec)->linear),
            "the weights' types of the experts differ, accepted on a GPU: the same for all");
  linear::LayerSpec ordered = spec;
  ordered.form = linear::Form::gptq_act_order;
  StoredWeights weights;
  const model::ModelConfig config = wide_experts();
  model::StoredModel stored = weights.random(config, WeightType::q4_k);
  const auto layer = code_layer(ordered);
  for (auto& expert : std::get<model::StoredExperts>(stored.layers[1].mlp).experts) {
    expert.down = layer->linear;
  }
  linear::ThreadPool threads(1);
  const model::Transformer model(config, pack(config, stored, threads).value());
  EXPECT_EQ(gpu::GpuModel::of(model).error(),
            "the experts have inputs in an order of their own (act-order), accepted on a GPU: the "
            "usual one");
}

}  // namespace
}  // namespace forge::testing
