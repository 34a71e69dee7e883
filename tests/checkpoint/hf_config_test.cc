// Each family's config.json in both spellings, and what is switched on by which key.
#include "forge/checkpoint/hf_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "checkpoint/checkpoint_edit.h"

namespace forge::checkpoint {
namespace {

using nlohmann::json;
using testing::golden;
using testing::json_file;

HfConfig parsed(const json& config) {
  const auto read = parse_hf_config(config.dump(), "config.json");
  EXPECT_TRUE(read) << to_string(read.error());
  return read.value_or(HfConfig{});
}

model::ModelConfig model_of(const std::string& name) {
  return parsed(json_file(golden(name) + "/config.json")).model;
}

/// What the golden models of dense families share.
model::ModelConfig dense(const std::string& family, int layers,
                         const model::GroupedQueryConfig& attention) {
  model::ModelConfig model;
  model.family = family;
  model.vocabulary_size = 96;
  model.hidden_size = 32;
  model.layers = layers;
  model.ffn_size = 64;
  model.positions = 192;
  model.norm_eps = 1e-3F;
  model.attention = attention;
  model.attention_scale = static_cast<float>(1 / std::sqrt(attention.head_size));
  model.rope = {.size = attention.head_size, .base = 1000};
  model.eos = {2};
  return model;
}

TEST(HfConfig, both_spellings_are_the_same_model) {
  int models = 0;
  for (const auto& folder : std::filesystem::directory_iterator(FORGE_GOLDEN_MODELS)) {
    const auto published = folder.path() / "config_published.json";
    if (!std::filesystem::exists(published)) continue;
    const HfConfig config = parsed(json_file(published.string()));
    EXPECT_EQ(parsed(json_file((folder.path() / "config.json").string())), config) << folder.path();
    EXPECT_EQ(config.quantization, HfQuantization{});
    ++models;
  }
  EXPECT_EQ(models, 27);
}

TEST(HfConfig, llama) {
  EXPECT_EQ(model_of("llama"), dense("llama", 3, {.heads = 4, .kv_heads = 2, .head_size = 8}));
}

TEST(HfConfig, llama_with_scaled_rope_and_tied_head) {
  model::ModelConfig expected = dense("llama", 2, {.heads = 4, .kv_heads = 1, .head_size = 16});
  expected.tied_head = true;
  expected.rope.base = 50;
  expected.rope.scaling = model::Llama3Rope{
      .factor = 4, .low_freq_factor = 1, .high_freq_factor = 4, .original_positions = 48};
  EXPECT_EQ(model_of("llama3_rope"), expected);
}

TEST(HfConfig, mistral) {
  EXPECT_EQ(model_of("mistral"), dense("mistral", 2, {.heads = 4, .kv_heads = 2, .head_size = 12}));
  EXPECT_EQ(
      model_of("mistral_sliding"),
      dense("mistral", 2, {.heads = 3, .kv_heads = 1, .head_size = 16, .sliding_window = 20}));
}

TEST(HfConfig, qwen2) {
  model::ModelConfig expected =
      dense("qwen2", 2, {.heads = 4, .kv_heads = 2, .head_size = 8, .qkv_bias = true});
  expected.tied_head = true;
  EXPECT_EQ(model_of("qwen2"), expected);
}

TEST(HfConfig, qwen3) {
  model::ModelConfig expected = dense(
      "qwen3", 2,
      {.heads = 4, .kv_heads = 2, .head_size = 16, .query_key_norm = model::QueryKeyNorm::head});
  expected.tied_head = true;
  expected.rope.base = 100;
  expected.rope.scaling = model::YarnRope{.factor = 4,
                                          .beta_fast = 4,
                                          .beta_slow = 1,
                                          .original_positions = 48,
                                          .attention_factor = 0.1 * std::log(4.0) + 1,
                                          .truncate = true};
  EXPECT_EQ(model_of("qwen3"), expected);
}

TEST(HfConfig, qwen3_moe) {
  model::ModelConfig expected = dense(
      "qwen3_moe", 3,
      {.heads = 4, .kv_heads = 2, .head_size = 10, .query_key_norm = model::QueryKeyNorm::head});
  expected.ffn_size = 40;
  model::ExpertsConfig experts{.experts = 8, .experts_per_token = 3, .expert_size = 12};
  experts.normalized = true;
  experts.dense_layers = {true, false, false};  // mlp_only_layers
  expected.experts = experts;
  EXPECT_EQ(model_of("qwen3_moe"), expected);

  experts.experts = 6;
  experts.experts_per_token = 2;
  experts.normalized = false;
  experts.dense_layers = {true, false, true};  // decoder_sparse_step
  expected.experts = experts;
  EXPECT_EQ(model_of("qwen3_moe_unnormed"), expected);
}

TEST(HfConfig, a_model_of_experts_only_needs_no_size_of_a_dense_mlp) {
  json config = json_file(golden("qwen3_moe") + "/config.json");
  config["mlp_only_layers"] = json::array();
  config.erase("intermediate_size");
  EXPECT_EQ(parsed(config).model.ffn_size, 0);
}

/// YaRN's temperature as DeepSeek weighs it, for a context four times as long.
double temperature(double mscale) { return 0.1 * mscale * std::log(4.0) + 1; }

model::ModelConfig deepseek(const std::string& family, const model::LatentConfig& latent,
                            const model::ExpertsConfig& experts) {
  model::ModelConfig model = dense(family, 3, {});
  model.ffn_size = 40;
  model.attention = latent;
  model.rope = {.size = latent.rope_size, .base = 100, .pairing = model::RopePairing::adjacent};
  model.experts = experts;
  model.experts->dense_layers = {true, false, false};
  return model;
}

float latent_scale(const model::LatentConfig& latent, double mscale) {
  return static_cast<float>(std::pow(temperature(mscale), 2) /
                            std::sqrt(latent.nope_size + latent.rope_size));
}

TEST(HfConfig, deepseek_v2_without_a_latent_of_queries) {
  const model::LatentConfig latent{.heads = 2,
                                   .query_rank = 0,
                                   .kv_rank = 20,
                                   .nope_size = 12,
                                   .rope_size = 8,
                                   .value_size = 10};
  model::ModelConfig expected =
      deepseek("deepseek_v2", latent,
               {.experts = 8, .experts_per_token = 3, .expert_size = 12, .shared_size = 24});
  expected.attention_scale = latent_scale(latent, 0.707);
  expected.rope.scaling =
      model::YarnRope{.factor = 4, .beta_fast = 32, .beta_slow = 1, .original_positions = 48};
  EXPECT_EQ(model_of("deepseek_v2_lite"), expected);
}

TEST(HfConfig, deepseek_v2) {
  const model::LatentConfig latent{.heads = 2,
                                   .query_rank = 24,
                                   .kv_rank = 20,
                                   .nope_size = 12,
                                   .rope_size = 16,
                                   .value_size = 10};
  model::ModelConfig expected =
      deepseek("deepseek_v2", latent,
               {.experts = 12, .experts_per_token = 3, .expert_size = 12, .shared_size = 24});
  expected.experts->groups = 4;
  expected.experts->groups_per_token = 2;
  expected.experts->routed_scale = 4;
  expected.attention_scale = latent_scale(latent, 0.6);
  expected.rope.scaling = model::YarnRope{.factor = 4,
                                          .beta_fast = 4,
                                          .beta_slow = 1,
                                          .original_positions = 48,
                                          .attention_factor = temperature(1) / temperature(0.6)};
  EXPECT_EQ(model_of("deepseek_v2"), expected);
}

TEST(HfConfig, deepseek_v3) {
  const model::LatentConfig latent{.heads = 2,
                                   .query_rank = 24,
                                   .kv_rank = 20,
                                   .nope_size = 12,
                                   .rope_size = 16,
                                   .value_size = 10};
  model::ModelConfig expected =
      deepseek("deepseek_v3", latent,
               {.experts = 12, .experts_per_token = 4, .expert_size = 12, .shared_size = 12});
  expected.experts->score = model::ExpertScore::sigmoid;
  expected.experts->correction_bias = true;
  expected.experts->groups = 4;
  expected.experts->groups_per_token = 2;
  expected.experts->group_best = 2;
  expected.experts->normalized = true;
  expected.experts->routed_scale = 2.5F;
  expected.attention_scale = latent_scale(latent, 1);
  expected.rope.scaling =
      model::YarnRope{.factor = 4, .beta_fast = 4, .beta_slow = 1, .original_positions = 48};
  EXPECT_EQ(model_of("deepseek_v3"), expected);
}

TEST(HfConfig, olmo2) {
  model::ModelConfig expected = dense(
      "olmo2", 2,
      {.heads = 4, .kv_heads = 2, .head_size = 8, .query_key_norm = model::QueryKeyNorm::row});
  expected.norm = model::NormPlacement::after;
  EXPECT_EQ(model_of("olmo2"), expected);
}

TEST(HfConfig, granite) {
  model::ModelConfig expected = dense("granite", 2, {.heads = 4, .kv_heads = 2, .head_size = 8});
  expected.attention_scale = 0.25F;
  expected.embedding_multiplier = 0.3F;
  expected.residual_multiplier = 0.4F;
  expected.logits_divisor = 2;
  EXPECT_EQ(model_of("granite"), expected);
}

/// Keys that a checkpoint may leave out or have otherwise.
class HfConfigKeys : public ::testing::Test {
 protected:
  json llama_ = json_file(golden("llama") + "/config_published.json");
  json qwen2_ = json_file(golden("qwen2") + "/config_published.json");

  static model::GroupedQueryConfig attention(const json& config) {
    return std::get<model::GroupedQueryConfig>(parsed(config).model.attention);
  }
};

TEST_F(HfConfigKeys, left_out_have_the_values_of_transformers) {
  const model::ModelConfig whole = parsed(llama_).model;
  for (const char* const key : {"rope_theta", "rope_scaling", "head_dim", "hidden_act", "mlp_bias",
                                "attention_bias", "tie_word_embeddings"}) {
    llama_.erase(key);
  }
  model::ModelConfig expected = whole;
  expected.rope.base = 10000;
  EXPECT_EQ(parsed(llama_).model, expected);
  llama_.erase("num_key_value_heads");
  EXPECT_EQ(attention(llama_).kv_heads, 4) << "as many as heads";
}

/// The golden model's configuration without some keys.
model::ModelConfig without(const std::string& name, const std::vector<std::string>& keys) {
  json config = json_file(golden(name) + "/config_published.json");
  for (const std::string& key : keys) config.erase(key);
  return parsed(config).model;
}

TEST(HfConfig, contexts_and_epsilons_left_out_are_those_of_the_family) {
  struct Default {
    const char* model;
    int positions;
    float norm_eps;
  };
  for (const Default& family :
       {Default{"llama", 2048, 1e-6F}, Default{"mistral", 131072, 1e-6F},
        Default{"qwen2", 32768, 1e-6F}, Default{"qwen3", 32768, 1e-6F},
        Default{"qwen3_moe", 32768, 1e-6F}, Default{"deepseek_v2_lite", 2048, 1e-6F},
        Default{"deepseek_v3", 4096, 1e-6F}, Default{"olmo2", 2048, 1e-5F},
        Default{"granite", 2048, 1e-6F}, Default{"mixtral", 131072, 1e-5F},
        Default{"qwen2_moe", 32768, 1e-6F}, Default{"smollm3", 32768, 1e-6F},
        Default{"phi3", 4096, 1e-5F}, Default{"olmo3", 2048, 1e-5F},
        Default{"glm4", 131072, 1.5625e-7F}, Default{"gemma2", 8192, 1e-6F},
        Default{"gemma3", 131072, 1e-6F}, Default{"gpt_oss", 131072, 1e-5F}}) {
    const model::ModelConfig model =
        without(family.model, {"max_position_embeddings", "rms_norm_eps"});
    EXPECT_EQ(model.positions, family.positions) << family.model;
    EXPECT_EQ(model.norm_eps, family.norm_eps) << family.model;
  }
}

TEST(HfConfig, granites_multipliers_left_out_are_1) {
  const model::ModelConfig model = without(
      "granite",
      {"embedding_multiplier", "residual_multiplier", "attention_multiplier", "logits_scaling"});
  EXPECT_EQ(model.embedding_multiplier, 1);
  EXPECT_EQ(model.residual_multiplier, 1);
  EXPECT_EQ(model.attention_scale, 1);
  EXPECT_EQ(model.logits_divisor, 1);
}

TEST(HfConfig, what_deepseek_leaves_out_of_its_experts) {
  const std::vector<std::string> keys = {"n_shared_experts", "routed_scaling_factor",
                                         "first_k_dense_replace"};
  const model::ModelConfig v2 = without("deepseek_v2", keys);
  EXPECT_EQ(v2.experts->shared_size, 2 * v2.experts->expert_size);
  EXPECT_EQ(v2.experts->routed_scale, 1);
  EXPECT_FALSE(is_dense(v2, 0));
  const model::ModelConfig v3 = without("deepseek_v3", keys);
  EXPECT_EQ(v3.experts->shared_size, v3.experts->expert_size);
  EXPECT_EQ(v3.experts->routed_scale, 2.5F);
  for (int layer = 0; layer < v3.layers; ++layer) EXPECT_EQ(is_dense(v3, layer), layer < 3);
  json groups = json_file(golden("deepseek_v3") + "/config_published.json");
  groups["n_routed_experts"] = 16;
  groups.erase("n_group");
  groups.erase("topk_group");
  EXPECT_EQ(parsed(groups).model.experts->groups, 8);
  EXPECT_EQ(parsed(groups).model.experts->groups_per_token, 4);
  json none = json_file(golden("deepseek_v2") + "/config_published.json");
  none["n_shared_experts"] = nullptr;
  EXPECT_EQ(parsed(none).model.experts->shared_size, 0);
}

TEST_F(HfConfigKeys, an_epsilon_of_0_is_one) {
  llama_["rms_norm_eps"] = 0;
  EXPECT_EQ(parsed(llama_).model.norm_eps, 0);
}

TEST_F(HfConfigKeys, biases) {
  llama_["attention_bias"] = true;
  EXPECT_TRUE(attention(llama_).qkv_bias);
  EXPECT_TRUE(attention(llama_).output_bias);
}

TEST_F(HfConfigKeys, linear_scaling_of_rope) {
  llama_["rope_scaling"] = {{"type", "linear"}, {"factor", 2.5}};
  EXPECT_EQ(parsed(llama_).model.rope.scaling, model::RopeScaling(model::LinearRope{2.5}));
}

TEST_F(HfConfigKeys, yarn_without_factor_takes_the_quotient_of_contexts) {
  llama_["rope_scaling"] = {{"type", "yarn"}, {"original_max_position_embeddings", 48}};
  const auto yarn = std::get<model::YarnRope>(parsed(llama_).model.rope.scaling);
  EXPECT_EQ(yarn.factor, 4);
  EXPECT_EQ(yarn.attention_factor, temperature(1));
  EXPECT_EQ(yarn.beta_fast, 32);
  EXPECT_EQ(yarn.beta_slow, 1);
}

TEST_F(HfConfigKeys, yarns_attention_factor_may_be_given) {
  llama_["rope_scaling"] = {{"rope_type", "yarn"},      {"factor", 4.0},
                            {"attention_factor", 1.25}, {"mscale", 1.0},
                            {"mscale_all_dim", 0.5},    {"truncate", false}};
  const model::ModelConfig model = parsed(llama_).model;
  const auto yarn = std::get<model::YarnRope>(model.rope.scaling);
  EXPECT_EQ(yarn.attention_factor, 1.25);
  EXPECT_EQ(yarn.original_positions, 192) << "max_position_embeddings";
  EXPECT_FALSE(yarn.truncate);
  EXPECT_EQ(model.attention_scale, static_cast<float>(1 / std::sqrt(8.0))) << "not DeepSeek";
}

TEST_F(HfConfigKeys, a_window_is_for_all_layers_or_none) {
  qwen2_["sliding_window"] = 20;
  EXPECT_EQ(attention(qwen2_).sliding_window, 0) << "use_sliding_window is false";
  qwen2_["use_sliding_window"] = true;
  EXPECT_EQ(attention(qwen2_).sliding_window, 0) << "max_window_layers is above both layers";
  qwen2_["max_window_layers"] = 0;
  EXPECT_EQ(attention(qwen2_).sliding_window, 20);
  qwen2_["layer_types"] = {"full_attention", "full_attention"};
  EXPECT_EQ(attention(qwen2_).sliding_window, 0) << "layer_types counts first";
}

TEST_F(HfConfigKeys, tokens_that_end_a_text) {
  llama_["eos_token_id"] = {7, 5, 7};
  EXPECT_EQ(parsed(llama_).model.eos, (std::vector<std::uint32_t>{7, 5}));
  llama_["eos_token_id"] = nullptr;
  EXPECT_TRUE(parsed(llama_).model.eos.empty());
}

TEST_F(HfConfigKeys, generation_config_adds_its_tokens) {
  const formats::testing::ScratchFolder folder;
  folder.write("config.json", llama_.dump());
  EXPECT_EQ(read_hf_config(folder.path())->model.eos, (std::vector<std::uint32_t>{2}));
  folder.write("generation_config.json", R"({"eos_token_id": [9, 2], "top_p": 0.9})");
  EXPECT_EQ(read_hf_config(folder.path())->model.eos, (std::vector<std::uint32_t>{2, 9}));
  folder.write("generation_config.json", R"({"eos_token_id": "</s>"})");
  EXPECT_EQ(to_string(read_hf_config(folder.path()).error()),
            folder.file("generation_config.json") +
                ": eos_token_id is \"</s>\"; accepted is an integer, 0 .. 4294967295, or a list "
                "of them");
}

}  // namespace
}  // namespace forge::checkpoint
