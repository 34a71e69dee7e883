// config.json made from a ModelConfig: read again, it is the same model, or there is none.
#include "json_description.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "forge/checkpoint/checkpoint.h"

namespace forge::apps {
namespace {

std::string golden(const std::string& name) {
  return FORGE_SOURCE_DIR "/tests/golden/models/" + name;
}

model::ModelConfig config_of(const std::string& name) {
  return checkpoint::Checkpoint::open(golden(name)).value().config();
}

std::string error_of(const model::ModelConfig& config) {
  const auto text = config_text(config, quant::WeightType::f32);
  return text ? "" : text.error();
}

const std::vector<std::string> kWritten{
    "llama",      "llama3_rope",       "mistral_sliding", "qwen2",
    "qwen3",      "deepseek_v2_lite",  "deepseek_v2",     "deepseek_v3",
    "llama_bf16", "qwen3_moe_unnormed"};

TEST(JsonDescription, read_again_it_is_the_same_model) {
  for (const std::string& name : kWritten) {
    const model::ModelConfig config = config_of(name);
    const auto text = config_text(config, quant::WeightType::f32);
    ASSERT_TRUE(text.has_value()) << name << ": " << text.error();
    EXPECT_EQ(checkpoint::parse_hf_config(*text, "config.json").value().model, config) << name;
  }
}

TEST(JsonDescription, says_any_temperature_of_latents_scores) {
  model::ModelConfig config = config_of("deepseek_v3");
  const auto& latent = std::get<model::LatentConfig>(config.attention);
  const double unscaled = std::sqrt(double{1} * latent.nope_size + latent.rope_size);
  config.rope.scaling = model::YarnRope{.factor = 40, .original_positions = 48};
  for (const double multiplier : {0.0, 0.1, 0.0707, 0.1234567, 1.0 / 3}) {
    const double temperature = multiplier * std::log(40.0) + 1;
    config.attention_scale = static_cast<float>(temperature * temperature / unscaled);
    const auto text = config_text(config, quant::WeightType::f32);
    ASSERT_TRUE(text.has_value()) << multiplier << ": " << text.error();
    EXPECT_EQ(checkpoint::parse_hf_config(*text, "config.json").value().model, config)
        << multiplier;
  }
}

TEST(JsonDescription, what_config_json_has_no_words_for_is_refused_by_name) {
  const std::string head = "config.json cannot say this model: it has no keys for its ";
  model::ModelConfig qwen = config_of("qwen3_moe_unnormed");
  qwen.experts->routed_scale = 2;
  EXPECT_EQ(error_of(qwen), head + "experts");
  model::ModelConfig v3 = config_of("deepseek_v3");
  v3.experts->correction_bias = false;
  EXPECT_EQ(error_of(v3), head + "experts");
  model::ModelConfig llama = config_of("llama");
  llama.attention_scale *= 0.5F;
  EXPECT_EQ(error_of(llama), head + "scale of the attention's scores");
  llama = config_of("llama");
  llama.rope.size /= 2;
  EXPECT_EQ(error_of(llama), head + "RoPE");
  std::get<model::GroupedQueryConfig>(llama.attention).qkv_bias = true;
  EXPECT_EQ(error_of(llama),
            "config.json has no key for a llama with biases of Q, K and V alone, or of O alone");
}

}  // namespace
}  // namespace forge::apps
