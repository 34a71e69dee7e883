// Canonical numerics (linear/numerics.h) of a whole model: equal logits on every instruction set.
#include <gtest/gtest.h>

#include <string>

#include "model/stored_weights.h"
#include "model/transformer_runner.h"
#include "numerics/test_values.h"

namespace forge::model {
namespace {

/// Models of all layers there are, whose products are all of bf16 but that of a router.
class TransformerNumerics : public ::testing::TestWithParam<ModelConfig> {};

TEST_P(TransformerNumerics, canonical_logits_are_the_same_on_every_target) {
  testing::StoredWeights weights;
  linear::ThreadPool threads(2);
  const StoredModel stored = weights.random(GetParam(), quant::WeightType::bf16);
  const Transformer transformer(
      GetParam(), pack(GetParam(), stored, threads, {linear::Numerics::canonical}).value());
  EXPECT_EQ(transformer.weights().numerics, linear::Numerics::canonical);
  const auto tokens = testing::some_tokens(20, 3, GetParam().vocabulary_size);
  const auto expected = testing::logits_alone(transformer, tokens);
  numerics::for_every_target(
      [&] { EXPECT_EQ(testing::logits_alone(transformer, tokens), expected); });
}

std::string kind_of_model(const ::testing::TestParamInfo<ModelConfig>& info) {
  return info.index == 0 ? "llama" : info.index == 1 ? "experts" : "latent";
}

INSTANTIATE_TEST_SUITE_P(All, TransformerNumerics,
                         ::testing::Values(testing::wide_llama(), testing::wide_experts(),
                                           testing::wide_latent()),
                         kind_of_model);

}  // namespace
}  // namespace forge::model
