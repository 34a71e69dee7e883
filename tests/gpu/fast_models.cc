#include "gpu/fast_models.h"

#include <algorithm>

#include "forge/core/check.h"

namespace forge::testing {
namespace {

model::ModelConfig llama() {
  return {.family = "llama",
          .vocabulary_size = 83,
          .hidden_size = 72,
          .layers = 2,
          .ffn_size = 104,
          .positions = 4096,
          .attention = model::GroupedQueryConfig{.heads = 4, .kv_heads = 2, .head_size = 16},
          .attention_scale = 0.25F,
          .rope = {.size = 16}};
}

model::GroupedQueryConfig& attention_of(model::ModelConfig& config) {
  return std::get<model::GroupedQueryConfig>(config.attention);
}

/// Biases of queries, keys and values, norms of heads, a tied head.
model::ModelConfig qwen() {
  model::ModelConfig config = llama();
  config.tied_head = true;
  auto& attention = attention_of(config);
  attention.qkv_bias = true;
  attention.query_key_norm = model::QueryKeyNorm::head;
  attention.heads = 6;
  attention.kv_heads = 2;
  return config;
}

/// Norms after sub-layers, and of all heads.
model::ModelConfig olmo() {
  model::ModelConfig config = llama();
  config.norm = model::NormPlacement::after;
  attention_of(config).query_key_norm = model::QueryKeyNorm::row;
  return config;
}

/// Norms around, windows on every second layer with a RoPE of their own, caps, GeGLU.
model::ModelConfig gemma() {
  model::ModelConfig config = llama();
  config.norm = model::NormPlacement::around;
  config.activation = model::Activation::gelu_tanh;
  config.embedding_multiplier = 8;
  config.logits_cap = 20;
  config.window_rope = model::RopeConfig{.size = 16, .base = 50};
  auto& attention = attention_of(config);
  attention.sliding_window = 21;
  attention.full_layers = {false, true};
  attention.score_cap = 4;
  return config;
}

/// Multipliers; rows of two stages and a tail; one KV head for all of more than 16 heads, of which
/// a part turns, in adjacent pairs.
model::ModelConfig granite() {
  model::ModelConfig config = llama();
  config.hidden_size = 264;
  config.residual_multiplier = 0.375F;
  config.logits_divisor = 4;
  auto& attention = attention_of(config);
  attention.heads = 18;
  attention.kv_heads = 1;
  config.rope = {.size = 8, .pairing = model::RopePairing::adjacent};
  return config;
}

/// Sinks, biases everywhere, clamped SwiGLU, layers that do not turn, heads of 64.
model::ModelConfig sinks() {
  model::ModelConfig config = llama();
  config.activation = model::Activation::clamped_swiglu;
  config.swiglu_alpha = 1.5F;
  config.swiglu_limit = 0.75F;
  config.mlp_bias = true;
  config.unturned_layers = {true, false};
  config.rope.size = 64;
  auto& attention = attention_of(config);
  attention.sinks = attention.qkv_bias = attention.output_bias = true;
  attention.heads = attention.kv_heads = 2;
  attention.head_size = 64;
  attention.sliding_window = 40;
  attention.full_layers = {true, false};
  return config;
}

}  // namespace

std::vector<FastShape> fast_shapes() {
  return {{"llama", llama()}, {"qwen", qwen()},       {"olmo", olmo()},
          {"gemma", gemma()}, {"granite", granite()}, {"sinks", sinks()}};
}

FastShape fast_shape(const std::string& name) {
  const std::vector<FastShape> all = fast_shapes();
  const auto found =
      std::ranges::find_if(all, [&](const FastShape& shape) { return shape.name == name; });
  FORGE_CHECK(found != all.end(), "shape=", name);
  return *found;
}

}  // namespace forge::testing
