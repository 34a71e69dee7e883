#include "forge/model/model_config.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <climits>
#include <cmath>

namespace forge::model {
namespace {

ModelConfig grouped() {
  ModelConfig model;
  model.vocabulary_size = 96;
  model.hidden_size = 32;
  model.layers = 2;
  model.ffn_size = 64;
  model.positions = 128;
  model.attention = GroupedQueryConfig{.heads = 4, .kv_heads = 2, .head_size = 8};
  model.attention_scale = 1;
  model.rope.size = 8;
  return model;
}

ModelConfig latent() {
  ModelConfig model = grouped();
  model.attention = LatentConfig{.heads = 2, .rope_size = 8};
  return model;
}

ModelConfig with_experts() {
  ModelConfig model = grouped();
  model.experts = ExpertsConfig{.expert_size = 16};
  model.experts->dense_layers = {true, false};
  return model;
}

std::string fault(const ModelConfig& model) {
  const auto valid = validate(model);
  return valid ? "" : valid.error();
}

TEST(ModelConfig, models_that_are_right) {
  EXPECT_EQ(fault(grouped()), "");
  EXPECT_EQ(fault(latent()), "");
  EXPECT_EQ(fault(with_experts()), "");
}

TEST(ModelConfig, an_empty_one_is_not) {
  EXPECT_EQ(fault({}), "vocabulary_size is 0; accepted is 1 .. 1048576");
}

TEST(ModelConfig, layers_with_the_dense_mlp) {
  const ModelConfig model = with_experts();
  EXPECT_TRUE(is_dense(model, 0));
  EXPECT_FALSE(is_dense(model, 1));
  EXPECT_TRUE(is_dense(grouped(), 1));
  EXPECT_DEATH(is_dense(model, 2), "layer=2 layers=2");
}

TEST(ModelConfig, numbers_that_are_none) {
  ModelConfig model = grouped();
  model.attention_scale = NAN;
  EXPECT_EQ(fault(model), "attention_scale is nan; accepted is 1e-06 .. 1e+06");
  model = grouped();
  model.logits_divisor = 0;
  EXPECT_EQ(fault(model), "logits_divisor is 0; accepted is 1e-06 .. 1e+06");
  model = grouped();
  model.rope.base = INFINITY;
  EXPECT_EQ(fault(model), "rope.base is inf; accepted is 1 .. 1e+12");
}

TEST(ModelConfig, sizes_whose_product_is_too_large) {
  ModelConfig model = grouped();
  model.attention = GroupedQueryConfig{.heads = 1024, .kv_heads = 1024, .head_size = 256};
  EXPECT_EQ(fault(model), "") << "2^18 are accepted";
  model.attention = GroupedQueryConfig{.heads = 1, .kv_heads = 1, .head_size = 257};
  EXPECT_EQ(fault(model), "head_size is 257; accepted is 1 .. 256");
  model.attention = GroupedQueryConfig{.heads = INT_MAX, .kv_heads = 1, .head_size = INT_MAX};
  EXPECT_EQ(fault(model), "heads is 2147483647; accepted is 1 .. 1024");
  model = latent();
  model.attention = LatentConfig{.heads = 1024, .nope_size = 1024, .rope_size = 8, .value_size = 1};
  EXPECT_EQ(fault(model), "heads * (nope_size + rope_size) is 1056768; accepted is 1 .. 1048576");
  model.attention = LatentConfig{.heads = 1, .kv_rank = 1000, .rope_size = 26};
  EXPECT_EQ(fault(model), "kv_rank + rope_size is 1026; accepted is 1 .. 1024");
}

TEST(ModelConfig, rope_fits_the_head) {
  ModelConfig model = grouped();
  model.rope.size = 10;
  EXPECT_EQ(fault(model), "rope.size is 10; accepted is 2 .. 8");
  model.rope.size = 7;
  EXPECT_EQ(fault(model), "rope.size is 7; accepted is an even number");
  model = latent();
  model.rope.size = 4;
  EXPECT_EQ(fault(model), "rope.size is 4; accepted is rope_size, 8");
  model = grouped();
  model.rope.scaling = TabledRope{{1, 2, 3}};
  EXPECT_EQ(fault(model),
            "rope.scaling.divisors is a table of 3; accepted is one for each pair, 4");
  model.rope.scaling = TabledRope{{1, 2, 0, 3}};
  EXPECT_EQ(fault(model), "rope.scaling.divisors is 0; accepted is 0.03125 .. 1e+06");
}

TEST(ModelConfig, lists_of_layers_have_one_for_each) {
  ModelConfig model = grouped();
  model.unturned_layers = {true};
  EXPECT_EQ(fault(model), "unturned_layers is a list of 1; accepted is one for each layer, 2");
  model.unturned_layers = {true, false};
  std::get<GroupedQueryConfig>(model.attention).full_layers = {true};
  EXPECT_EQ(fault(model), "full_layers is a list of 1; accepted is one for each layer, 2");
}

TEST(ModelConfig, layers_have_windows_and_turns_of_their_own) {
  ModelConfig model = grouped();
  auto& attention = std::get<GroupedQueryConfig>(model.attention);
  attention.sliding_window = 5;
  EXPECT_EQ(window_of(attention, 1), 5);
  attention.full_layers = {false, true};
  EXPECT_EQ(window_of(attention, 0), 5);
  EXPECT_EQ(window_of(attention, 1), 0);
  EXPECT_EQ(rope_of(model, 0), &model.rope);
  model.window_rope = model.rope;
  EXPECT_EQ(rope_of(model, 0), &*model.window_rope);
  EXPECT_EQ(rope_of(model, 1), &model.rope);
  model.unturned_layers = {true, false};
  EXPECT_EQ(rope_of(model, 0), nullptr);
  model.window_rope->size = 6;
  EXPECT_EQ(fault(model), "window_rope.size is 6; accepted is rope.size, 8");
  model.window_rope->base = 0;
  EXPECT_EQ(fault(model), "window_rope.base is 0; accepted is 1 .. 1e+12");
}

TEST(ModelConfig, caps_and_gates) {
  ModelConfig model = with_experts();
  model.logits_cap = -1;
  EXPECT_EQ(fault(model), "logits_cap is -1; accepted is 0 .. 1e+06");
  model.logits_cap = 0;
  model.experts->shared_gate = true;
  model.experts->shared_size = 0;
  EXPECT_EQ(fault(model),
            "experts.shared_gate is true; accepted is false where there are no shared experts");
  model = grouped();
  model.rope.scaling = LongRope{.short_divisors = {1, 1, 1, 1}, .long_divisors = {1, 1}};
  EXPECT_EQ(fault(model),
            "rope.scaling.long_divisors is a table of 2; accepted is one for each pair, 4");
}

TEST(ModelConfig, clamped_swiglu_has_its_numbers_and_others_have_none) {
  ModelConfig model = grouped();
  model.swiglu_limit = 7;
  EXPECT_EQ(fault(model), "swiglu_limit is 7; accepted is 0");
  model.activation = Activation::clamped_swiglu;
  EXPECT_EQ(fault(model), "swiglu_alpha is 0; accepted is 0.001 .. 1e+06");
  model.swiglu_alpha = 1.702F;
  EXPECT_EQ(fault(model), "");
  model.swiglu_limit = -7;
  EXPECT_EQ(fault(model), "swiglu_limit is -7; accepted is 0.001 .. 1e+06");
}

TEST(ModelConfig, a_dense_mlp_has_a_size_where_there_is_one) {
  ModelConfig model = with_experts();
  model.ffn_size = 0;
  EXPECT_EQ(fault(model), "ffn_size is 0; accepted is 1 .. 1048576");
  model.experts->dense_layers = {false, false};
  EXPECT_EQ(fault(model), "");
  model.experts->dense_layers = {false};
  EXPECT_EQ(fault(model), "experts.dense_layers is a list of 1; accepted is one for each layer, 2");
}

TEST(ModelConfig, sizes_whose_product_has_more_than_64_bits_are_named) {
  ModelConfig model = latent();
  model.attention = LatentConfig{
      .heads = INT_MIN, .kv_rank = 8, .nope_size = INT_MIN, .rope_size = 2, .value_size = INT_MIN};
  EXPECT_EQ(fault(model), "heads is -2147483648; accepted is 1 .. 1024");
}

RC_GTEST_PROP(ModelConfig, whatever_the_numbers_are_validation_ends, ()) {
  const auto any = [] { return *rc::gen::element(INT_MIN, -1, 0, 1, 2, 3, 8, 1024, INT_MAX); };
  ModelConfig model = *rc::gen::element(grouped(), latent(), with_experts());
  model.layers = any();
  model.hidden_size = any();
  model.rope.size = any();
  if (auto* const c = std::get_if<GroupedQueryConfig>(&model.attention)) {
    *c = {.heads = any(), .kv_heads = any(), .head_size = any(), .sliding_window = any()};
  } else {
    model.attention = LatentConfig{.heads = any(),
                                   .query_rank = any(),
                                   .kv_rank = any(),
                                   .nope_size = any(),
                                   .rope_size = any(),
                                   .value_size = any()};
  }
  if (model.experts) {
    model.experts->experts = any();
    model.experts->experts_per_token = any();
    model.experts->groups = any();
    model.experts->groups_per_token = any();
    model.experts->group_best = any();
  }
  const std::string found = fault(model);
  RC_ASSERT(found.empty() || found.find("; accepted is ") != std::string::npos);
}

}  // namespace
}  // namespace forge::model
