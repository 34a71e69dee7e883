#include "forge/model/config_digest.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

#include "model/transformer_runner.h"

namespace forge::model {
namespace {

using Change = std::function<void(ModelConfig&)>;

/// Applies the changes one after the other; each has to give a digest that was not there before.
void expect_new_digests(ModelConfig config, const std::vector<Change>& changes) {
  std::set<std::uint64_t> digests = {digest_of(config)};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    changes[i](config);
    EXPECT_TRUE(digests.insert(digest_of(config)).second) << "change " << i;
  }
}

TEST(ConfigDigest, differs_when_any_field_does) {
  expect_new_digests(
      {}, {
              [](ModelConfig& c) { c.vocabulary_size += 1; },
              [](ModelConfig& c) { c.hidden_size += 1; },
              [](ModelConfig& c) { c.layers += 1; },
              [](ModelConfig& c) { c.ffn_size += 1; },
              [](ModelConfig& c) { c.positions += 1; },
              [](ModelConfig& c) { c.norm_eps = 1e-6F; },
              [](ModelConfig& c) { c.norm = NormPlacement::after; },
              [](ModelConfig& c) { c.attention_scale = 0.5F; },
              [](ModelConfig& c) { c.rope.size += 2; },
              [](ModelConfig& c) { c.rope.base = 10001; },
              [](ModelConfig& c) { c.rope.pairing = RopePairing::adjacent; },
              [](ModelConfig& c) { c.rope.scaling = LinearRope{.factor = 1}; },
              [](ModelConfig& c) { c.rope.scaling = LinearRope{.factor = 2}; },
              [](ModelConfig& c) { c.rope.scaling = Llama3Rope{}; },
              [](ModelConfig& c) { c.rope.scaling = YarnRope{}; },
              [](ModelConfig& c) { c.rope.scaling = YarnRope{.truncate = false}; },
              [](ModelConfig& c) { c.rope.scaling = TabledRope{}; },
              [](ModelConfig& c) { c.rope.scaling = TabledRope{{1.0F}}; },
              [](ModelConfig& c) { c.attention = LatentConfig{}; },
              [](ModelConfig& c) { c.attention = LatentConfig{.kv_rank = 513}; },
              [](ModelConfig& c) { c.experts = ExpertsConfig{}; },
              [](ModelConfig& c) { c.experts->routed_scale = 2; },
              [](ModelConfig& c) { c.experts->dense_layers = {true}; },
              [](ModelConfig& c) { c.experts->dense_layers = {false}; },
              [](ModelConfig& c) { c.tied_head = true; },
              [](ModelConfig& c) { c.embedding_multiplier = 2; },
              [](ModelConfig& c) { c.residual_multiplier = 2; },
              [](ModelConfig& c) { c.logits_divisor = 2; },
              [](ModelConfig& c) { c.eos = {0}; },
              [](ModelConfig& c) { c.norm = NormPlacement::around; },
              [](ModelConfig& c) { c.rope.scaling = DynamicRope{.factor = 2}; },
              [](ModelConfig& c) { c.rope.scaling = LongRope{.is_long = true}; },
              [](ModelConfig& c) { c.window_rope = RopeConfig{}; },
              [](ModelConfig& c) { c.window_rope->base = 10001; },
              [](ModelConfig& c) { c.unturned_layers = {true}; },
              [](ModelConfig& c) { c.activation = Activation::gelu_tanh; },
              [](ModelConfig& c) { c.mlp_bias = true; },
              [](ModelConfig& c) { c.experts->shared_gate = true; },
              [](ModelConfig& c) { c.logits_cap = 30; },
              [](ModelConfig& c) { c.attention = GroupedQueryConfig{}; },
              [](ModelConfig& c) { c.attention = GroupedQueryConfig{.full_layers = {true}}; },
              [](ModelConfig& c) { c.attention = GroupedQueryConfig{.score_cap = 50}; },
              [](ModelConfig& c) { c.attention = GroupedQueryConfig{.sinks = true}; },
              [](ModelConfig& c) { c.experts->router_bias = true; },
              [](ModelConfig& c) { c.experts->expert_bias = true; },
              [](ModelConfig& c) { c.activation = Activation::clamped_swiglu; },
              [](ModelConfig& c) { c.swiglu_alpha = 2; },
              [](ModelConfig& c) { c.swiglu_limit = 2; },
              [](ModelConfig& c) {
                c.eos = {0, 0};
              },
          });
}

TEST(ConfigDigest, is_the_same_for_every_name_and_format_of_a_model) {
  ModelConfig config;
  const std::uint64_t digest = digest_of(config);
  config.family = "another";
  EXPECT_EQ(digest_of(config), digest);
  const auto of_path = [](const char* path) {
    return digest_of(testing::opened(std::string(FORGE_GOLDEN_MODELS "/") + path).config());
  };
  EXPECT_EQ(of_path("qwen2/model.gguf"), of_path("qwen2"));
  EXPECT_EQ(of_path("llama_bf16"), of_path("llama"));
  EXPECT_NE(of_path("llama/model.gguf"), of_path("llama")) << "which pairs other components";
}

/// FNV-1a over the words 0 0 0 0 0, 1e-5f, 0; 0 1 1 64 0 0 0 0; 0f; 64, 10000.0, 0, 0; 0; 0; 1f 1f
/// 1f; 0, as a few lines of Python have it.
/// Fields that came later say nothing here, and are left out.
TEST(ConfigDigest, is_of_the_fields_in_their_order) {
  EXPECT_EQ(digest_of(ModelConfig{}), 0x5e32ff8d07a08caU);
}

}  // namespace
}  // namespace forge::model
