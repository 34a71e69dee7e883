// Models of codes on both targets: whatever type a model's weights have, what the CPU recorded with
// canonical numerics the simulated GPU answers, logits bit for bit.
#include <gtest/gtest.h>

#include "gpu/replay_world.h"
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
    const CpuRun run = run_on_cpu(model, nullptr, PreemptionPolicy::swap, threads_);
    EXPECT_GT(run.events.chunks, 0);
    EXPECT_GT(run.events.swaps_in, 0);
    EXPECT_GT(run.events.drafts, 0);
    expect_replayed(run.trace, gpu::GpuModel::of(model).value());
  }

  linear::ThreadPool threads_{1};
};

TEST_P(CodedReplay, dense) { expect(wide_llama()); }

TEST_P(CodedReplay, dense_with_a_tied_head) {
  model::ModelConfig config = wide_llama();
  config.tied_head = true;
  expect(config);
}

TEST_P(CodedReplay, experts) { expect(wide_experts()); }

TEST_P(CodedReplay, latents_and_shared_experts) { expect(wide_latent()); }

std::vector<WeightType> types_of_rows() {
  std::vector<WeightType> types(quant::kWeightTypes.begin(), quant::kWeightTypes.end());
  std::erase(types, WeightType::i8);  // whose scales are elsewhere
  return types;
}
INSTANTIATE_TEST_SUITE_P(Of, CodedReplay, ::testing::ValuesIn(types_of_rows()),
                         [](const auto& type) { return std::string(name_of(type.param)); });

}  // namespace
}  // namespace forge::testing
