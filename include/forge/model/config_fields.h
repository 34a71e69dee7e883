// The fields of a ModelConfig, listed once: the digest (config_digest.h) is a walk over them, and
// so is the comparison of a model that was written with the one that is read again.
//
// visit(name, value) is called in the order of model_config.h, with the names that validate() has:
// "rope.scaling.factor". For a variant, the index of its alternative comes first; for an optional,
// whether it is there. A struct is taken apart by a structured binding, which no longer compiles
// when the struct gets another field.
//
// Pure, thread-safe.
#pragma once

#include <string>

#include "forge/model/model_config.h"

namespace forge::model {

template <class Visit>
void visit_fields(std::monostate, Visit&&) {}

template <class Visit>
void visit_fields(const LinearRope& c, Visit&& visit) {
  const auto& [factor] = c;
  visit("rope.scaling.factor", factor);
}

template <class Visit>
void visit_fields(const Llama3Rope& c, Visit&& visit) {
  const auto& [factor, low_freq_factor, high_freq_factor, original_positions] = c;
  visit("rope.scaling.factor", factor);
  visit("rope.scaling.low_freq_factor", low_freq_factor);
  visit("rope.scaling.high_freq_factor", high_freq_factor);
  visit("rope.scaling.original_positions", original_positions);
}

template <class Visit>
void visit_fields(const YarnRope& c, Visit&& visit) {
  const auto& [factor, fast, slow, original_positions, attention_factor, truncate] = c;
  visit("rope.scaling.factor", factor);
  visit("rope.scaling.beta_fast", fast);
  visit("rope.scaling.beta_slow", slow);
  visit("rope.scaling.original_positions", original_positions);
  visit("rope.scaling.attention_factor", attention_factor);
  visit("rope.scaling.truncate", truncate);
}

template <class Visit>
void visit_fields(const TabledRope& c, Visit&& visit) {
  const auto& [divisors] = c;
  visit("rope.scaling.divisors", divisors);
}

template <class Visit>
void visit_fields(const DynamicRope& c, Visit&& visit) {
  const auto& [factor] = c;
  visit("rope.scaling.factor", factor);
}

template <class Visit>
void visit_fields(const LongRope& c, Visit&& visit) {
  const auto& [short_divisors, long_divisors, original_positions, attention_factor, is_long] = c;
  visit("rope.scaling.short_divisors", short_divisors);
  visit("rope.scaling.long_divisors", long_divisors);
  visit("rope.scaling.original_positions", original_positions);
  visit("rope.scaling.attention_factor", attention_factor);
  visit("rope.scaling.is_long", is_long);
}

template <class Visit>
void visit_fields(const RopeConfig& c, Visit&& visit) {
  const auto& [size, base, pairing, scaling] = c;
  visit("rope.size", size);
  visit("rope.base", base);
  visit("rope.pairing", pairing);
  visit("rope.scaling", scaling.index());
  std::visit([&](const auto& kind) { visit_fields(kind, visit); }, scaling);
}

template <class Visit>
void visit_fields(const GroupedQueryConfig& c, Visit&& visit) {
  const auto& [heads, kv_heads, size, qkv_bias, output_bias, norm, window, full_layers, score_cap,
               sinks] = c;
  visit("heads", heads);
  visit("kv_heads", kv_heads);
  visit("head_size", size);
  visit("qkv_bias", qkv_bias);
  visit("output_bias", output_bias);
  visit("query_key_norm", norm);
  visit("sliding_window", window);
  visit("full_layers", full_layers);
  visit("score_cap", score_cap);
  visit("sinks", sinks);
}

template <class Visit>
void visit_fields(const LatentConfig& c, Visit&& visit) {
  const auto& [heads, query_rank, kv_rank, nope_size, rope_size, value_size, eps] = c;
  visit("heads", heads);
  visit("query_rank", query_rank);
  visit("kv_rank", kv_rank);
  visit("nope_size", nope_size);
  visit("rope_size", rope_size);
  visit("value_size", value_size);
  visit("latent_norm_eps", eps);
}

template <class Visit>
void visit_fields(const ExpertsConfig& c, Visit&& visit) {
  const auto& [experts, per_token, size, shared_size, score, bias, groups, groups_per_token,
               group_best, normalized, routed_scale, dense_layers, shared_gate, router_bias,
               expert_bias] = c;
  visit("experts.experts", experts);
  visit("experts.experts_per_token", per_token);
  visit("experts.expert_size", size);
  visit("experts.shared_size", shared_size);
  visit("experts.score", score);
  visit("experts.correction_bias", bias);
  visit("experts.groups", groups);
  visit("experts.groups_per_token", groups_per_token);
  visit("experts.group_best", group_best);
  visit("experts.normalized", normalized);
  visit("experts.routed_scale", routed_scale);
  visit("experts.dense_layers", dense_layers);
  visit("experts.shared_gate", shared_gate);
  visit("experts.router_bias", router_bias);
  visit("experts.expert_bias", expert_bias);
}

template <class Visit>
void visit_fields(const ModelConfig& c, Visit&& visit) {
  const auto& [family, vocabulary_size, hidden_size, layers, ffn_size, positions, norm_eps, norm,
               attention, attention_scale, rope, window_rope, unturned_layers, activation,
               swiglu_alpha, swiglu_limit, mlp_bias, experts, tied_head, embedding_multiplier,
               residual_multiplier, logits_divisor, logits_cap, eos] = c;
  visit("family", family);
  visit("vocabulary_size", vocabulary_size);
  visit("hidden_size", hidden_size);
  visit("layers", layers);
  visit("ffn_size", ffn_size);
  visit("positions", positions);
  visit("norm_eps", norm_eps);
  visit("norm", norm);
  visit("attention", attention.index());
  std::visit([&](const auto& kind) { visit_fields(kind, visit); }, attention);
  visit("attention_scale", attention_scale);
  visit_fields(rope, visit);
  visit("window_rope", window_rope.has_value());
  if (window_rope) {
    visit_fields(*window_rope, [&](const char* field, const auto& value) {
      visit((std::string("window_") + field).c_str(), value);
    });
  }
  visit("unturned_layers", unturned_layers);
  visit("activation", activation);
  visit("swiglu_alpha", swiglu_alpha);
  visit("swiglu_limit", swiglu_limit);
  visit("mlp_bias", mlp_bias);
  visit("experts", experts.has_value());
  if (experts) visit_fields(*experts, visit);
  visit("tied_head", tied_head);
  visit("embedding_multiplier", embedding_multiplier);
  visit("residual_multiplier", residual_multiplier);
  visit("logits_divisor", logits_divisor);
  visit("logits_cap", logits_cap);
  visit("eos", eos);
}

}  // namespace forge::model
