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

/// Experts in every layer, their weights normalized, as many as make an odd number of outputs.
model::ModelConfig qwen_moe() {
  model::ModelConfig config = qwen();
  config.ffn_size = 0;
  config.experts = model::ExpertsConfig{.experts = 7,
                                        .experts_per_token = 3,
                                        .expert_size = 40,
                                        .normalized = true,
                                        .dense_layers = {false, false}};
  return config;
}

/// Biases of the router and of experts, clamped SwiGLU, sinks; experts of more than a stage.
model::ModelConfig sinks_moe() {
  model::ModelConfig config = sinks();
  config.ffn_size = 0;
  config.mlp_bias = false;
  config.experts = model::ExpertsConfig{.experts = 6,
                                        .experts_per_token = 2,
                                        .expert_size = 136,
                                        .normalized = true,
                                        .dense_layers = {false, false},
                                        .router_bias = true,
                                        .expert_bias = true};
  return config;
}

/// A dense layer, then experts from the best groups, by sigmoid and correction bias, and shared
/// ones.
model::ModelConfig shared_moe() {
  model::ModelConfig config = llama();
  config.residual_multiplier = 0.5F;
  config.experts = model::ExpertsConfig{.experts = 8,
                                        .experts_per_token = 2,
                                        .expert_size = 24,
                                        .shared_size = 56,
                                        .score = model::ExpertScore::sigmoid,
                                        .correction_bias = true,
                                        .groups = 4,
                                        .groups_per_token = 2,
                                        .group_best = 2,
                                        .normalized = true,
                                        .routed_scale = 2.5F,
                                        .dense_layers = {true, false}};
  return config;
}

/// Norms after sub-layers, one expert of a token, shared ones behind a gate.
model::ModelConfig gated_moe() {
  model::ModelConfig config = olmo();
  config.ffn_size = 0;
  config.experts = model::ExpertsConfig{.experts = 5,
                                        .experts_per_token = 1,
                                        .expert_size = 32,
                                        .shared_size = 48,
                                        .dense_layers = {false, false},
                                        .shared_gate = true};
  return config;
}

/// Latents, of queries as well, heads that turn in adjacent pairs.
model::ModelConfig latent() {
  model::ModelConfig config = llama();
  config.attention = model::LatentConfig{.heads = 3,
                                         .query_rank = 40,
                                         .kv_rank = 40,
                                         .nope_size = 24,
                                         .rope_size = 8,
                                         .value_size = 16};
  config.rope = {.size = 8, .pairing = model::RopePairing::adjacent};
  return config;
}

/// Latents of keys and values alone, for more heads than 16; a dense layer, then shared experts.
model::ModelConfig latent_moe() {
  model::ModelConfig config = shared_moe();
  config.attention = model::LatentConfig{.heads = 18,
                                         .query_rank = 0,
                                         .kv_rank = 24,
                                         .nope_size = 16,
                                         .rope_size = 8,
                                         .value_size = 12};
  config.rope = {.size = 8};
  return config;
}

}  // namespace

std::vector<FastShape> fast_shapes() {
  return {{"llama", llama()},         {"qwen", qwen()},           {"olmo", olmo()},
          {"gemma", gemma()},         {"granite", granite()},     {"sinks", sinks()},
          {"qwen_moe", qwen_moe()},   {"sinks_moe", sinks_moe()}, {"shared_moe", shared_moe()},
          {"gated_moe", gated_moe()}, {"latent", latent()},       {"latent_moe", latent_moe()}};
}

AttentionKernels attention_kernels(const model::ModelConfig& config) {
  using enum gpu::KernelId;
  if (std::holds_alternative<model::LatentConfig>(config.attention)) {
    return {attend_latent_spans, attend_latent_spans};
  }
  return {attend_spans, attend_wide};
}

FastShape fast_shape(const std::string& name) {
  const std::vector<FastShape> all = fast_shapes();
  const auto found =
      std::ranges::find_if(all, [&](const FastShape& shape) { return shape.name == name; });
  FORGE_CHECK(found != all.end(), "shape=", name);
  return *found;
}

}  // namespace forge::testing
