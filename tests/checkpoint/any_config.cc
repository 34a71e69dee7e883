#include "checkpoint/any_config.h"

#include <algorithm>
#include <cmath>

namespace forge::testing {
namespace {

int any(int lowest, int highest) { return *rc::gen::inRange(lowest, highest + 1); }
bool any_bool() { return *rc::gen::arbitrary<bool>(); }

/// Multiples of 1/16: the same number as float and double.
double any_fraction(int lowest, int highest) { return any(16 * lowest, 16 * highest) / 16.0; }

model::RopeScaling any_scaling() {
  const double factor = any_fraction(1, 64);
  switch (any(0, 4)) {
    case 1:
      return model::LinearRope{factor};
    case 2: {
      const double low = any_fraction(1, 8);
      return model::Llama3Rope{.factor = factor,
                               .low_freq_factor = low,
                               .high_freq_factor = low + any_fraction(1, 8),
                               .original_positions = static_cast<double>(any(1, 100000))};
    }
    case 3: {
      const double slow = any_fraction(1, 8);
      return model::YarnRope{.factor = factor,
                             .beta_fast = slow + any_fraction(1, 64),
                             .beta_slow = slow,
                             .original_positions = static_cast<double>(any(1, 100000)),
                             .attention_factor = 1,
                             .truncate = any_bool()};
    }
    case 4:
      return model::DynamicRope{factor};
    default:
      return {};
  }
}

std::vector<bool> any_layers(int layers) {
  std::vector<bool> out;
  for (int layer = 0; layer < layers; ++layer) out.push_back(any_bool());
  return out;
}

std::vector<float> any_divisors(int size) {
  std::vector<float> out;
  for (int pair = 0; pair < size / 2; ++pair) {
    out.push_back(static_cast<float>(any_fraction(1, 64)));
  }
  return out;
}

/// LongRoPE, or none.
void set_long_rope(model::ModelConfig& model) {
  model.rope.scaling = {};
  if (any_bool()) return;
  model::LongRope rope{.short_divisors = any_divisors(model.rope.size),
                       .long_divisors = any_divisors(model.rope.size),
                       .original_positions = static_cast<double>(any(1, 100000)),
                       .attention_factor = any_fraction(1, 4)};
  rope.is_long = model.positions > rope.original_positions;
  model.rope.scaling = rope;
}

/// One without scaling, or of another base.
void set_window_rope(model::ModelConfig& model) {
  if (any_bool()) return;
  model.window_rope = model.rope;
  if (any_bool()) model.window_rope->scaling = {};
  if (any_bool()) model.window_rope->base = any(2, 10'000'000);
}

void set_gemma(model::ModelConfig& model) {
  model.norm = model::NormPlacement::around;
  model.activation = model::Activation::gelu_tanh;
  model.embedding_multiplier = std::sqrt(static_cast<float>(model.hidden_size));
  if (any_bool()) {
    model.attention_scale = static_cast<float>(1 / std::sqrt(double{1} * any(1, 512)));
  }
}

/// What its GGUF files have, or what only config.json can say.
void set_clamped_swiglu(model::ModelConfig& model) {
  const bool usual = any_bool();
  model.activation = model::Activation::clamped_swiglu;
  model.swiglu_alpha = usual ? 1.702F : static_cast<float>(any_fraction(1, 3));
  model.swiglu_limit = usual ? 7.0F : static_cast<float>(any_fraction(1, 9));
}

void set_grouped(model::ModelConfig& model) {
  model::GroupedQueryConfig attention;
  attention.kv_heads = any(1, 8);
  attention.heads = attention.kv_heads * any(1, 8);
  attention.head_size = 2 * any(1, 128);
  const std::string& family = model.family;
  if (family == "llama" || family == "olmo2" || family == "granite" || family == "smollm3" ||
      family == "gpt_oss") {
    attention.qkv_bias = attention.output_bias = any_bool();
  }
  if (family == "qwen2") attention.qkv_bias = true;
  attention.sinks = family == "gpt_oss";
  if (family == "qwen2_moe") attention.qkv_bias = any_bool();
  if (family.starts_with("qwen3")) attention.query_key_norm = model::QueryKeyNorm::head;
  if (family == "olmo2" || family == "olmo3") {
    attention.query_key_norm = model::QueryKeyNorm::row;
    model.norm = model::NormPlacement::after;
  }
  if (family == "glm4") attention.qkv_bias = any_bool();
  const bool gemma = family.starts_with("gemma");
  if (family == "gemma2") attention.score_cap = static_cast<float>(any(0, 100));
  if (gemma) model.logits_cap = static_cast<float>(any(0, 100));
  if (family == "gemma3_text") attention.query_key_norm = model::QueryKeyNorm::head;
  const bool window = gemma || family == "olmo3" || family == "mistral" || family == "mixtral" ||
                      family == "phi3" || family == "gpt_oss" || family == "smollm3" ||
                      family.starts_with("qwen");
  if (window && any_bool()) attention.sliding_window = any(1, 100000);
  if (window && any_bool()) attention.full_layers = any_layers(model.layers);
  if (family == "smollm3") model.unturned_layers = any_layers(model.layers);
  if (family == "llama" || family == "granite" || family == "smollm3") model.mlp_bias = any_bool();
  model.attention = attention;
  model.attention_scale = static_cast<float>(1 / std::sqrt(double{1} * attention.head_size));
  model.rope.size = attention.head_size;
  if (family == "phi3") {
    if (any_bool()) model.rope.size = 2 * any(1, attention.head_size / 2);
    set_long_rope(model);
  }
  if (family == "glm4") {
    model.norm = model::NormPlacement::around;
    model.rope.pairing = model::RopePairing::adjacent;
    if (any_bool()) model.rope.size = 2 * any(1, attention.head_size / 2);
  }
  if (gemma) set_gemma(model);
  if (family == "gpt_oss") set_clamped_swiglu(model);
  if (family == "olmo3" || family == "gemma3_text") set_window_rope(model);
  make_usual(model);
  if (auto* const yarn = std::get_if<model::YarnRope>(&model.rope.scaling)) {
    yarn->attention_factor = (0.1 * std::log(yarn->factor) + 1) * any_fraction(1, 4);
  }
}

void set_latent(model::ModelConfig& model) {
  const model::LatentConfig latent{.heads = any(1, 128),
                                   .query_rank = any_bool() ? any(1, 2048) : 0,
                                   .kv_rank = any(1, 512),
                                   .nope_size = any(1, 256),
                                   .rope_size = 2 * any(1, 64),
                                   .value_size = any(1, 256)};
  model.attention = latent;
  model.rope.size = latent.rope_size;
  model.rope.pairing = any(0, 7) == 0 ? model::RopePairing::halves : model::RopePairing::adjacent;
  double temperature = 1;
  if (auto* const yarn = std::get_if<model::YarnRope>(&model.rope.scaling)) {
    temperature = 0.1 * any_fraction(0, 2) * std::log(yarn->factor) + 1;
    if (any(0, 3) == 0) yarn->attention_factor = any_fraction(1, 4);
  }
  model.attention_scale = static_cast<float>(
      temperature * temperature / std::sqrt(double{1} * latent.nope_size + latent.rope_size));
}

model::ExpertsConfig any_qwen_experts(int layers) {
  model::ExpertsConfig experts;
  experts.experts = any(1, 512);
  experts.experts_per_token = any(1, experts.experts);
  experts.expert_size = any(1, 4096);
  experts.normalized = any_bool();
  const bool some_dense = any_bool();
  for (int layer = 0; layer < layers; ++layer) {
    experts.dense_layers.push_back(some_dense && any_bool());
  }
  return experts;
}

model::ExpertsConfig any_mixtral_experts(int layers) {
  model::ExpertsConfig experts = any_qwen_experts(layers);
  experts.normalized = true;
  experts.dense_layers.assign(static_cast<std::size_t>(layers), false);
  return experts;
}

model::ExpertsConfig any_deepseek_experts(bool v3, int layers) {
  model::ExpertsConfig experts;
  experts.groups = any(1, 8);
  const int of_group = any(2, 32);
  experts.experts = experts.groups * of_group;
  experts.groups_per_token = any(1, experts.groups);
  experts.experts_per_token = any(1, experts.groups_per_token * of_group);
  experts.expert_size = any(1, 4096);
  experts.shared_size = any(0, 4) * experts.expert_size;
  experts.routed_scale = static_cast<float>(any_fraction(1, 16));
  experts.score = v3 ? model::ExpertScore::sigmoid : model::ExpertScore::softmax;
  experts.correction_bias = v3;
  experts.group_best = v3 ? 2 : 1;
  experts.normalized = v3 && any_bool();
  const int first = any(0, layers);
  const int every = any(0, 3) == 0 ? any(2, 3) : 1;
  for (int layer = 0; layer < layers; ++layer) {
    experts.dense_layers.push_back(layer < first || layer % every != 0);
  }
  return experts;
}

/// Of a list that says nothing about any layer, an empty one.
void drop_if_none(std::vector<bool>& layers) {
  if (std::ranges::find(layers, true) == layers.end()) layers.clear();
}

}  // namespace

void make_usual(model::ModelConfig& model) {
  drop_if_none(model.unturned_layers);
  auto& attention = std::get<model::GroupedQueryConfig>(model.attention);
  const std::vector<bool>& full = attention.full_layers;
  if (!full.empty() && std::ranges::find(full, false) == full.end()) attention.sliding_window = 0;
  if (attention.sliding_window == 0) attention.full_layers.clear();
  if (attention.sliding_window == 0 || model.window_rope == model.rope) model.window_rope.reset();
  drop_if_none(attention.full_layers);
}

rc::Gen<model::ModelConfig> any_config(const std::string& family) {
  return rc::gen::exec([family] {
    model::ModelConfig model{.family = family,
                             .vocabulary_size = any(1, 300000),
                             .hidden_size = any(1, 8192),
                             .layers = any(1, 12),
                             .ffn_size = any(1, 32768),
                             .positions = any(1, 1 << 20),
                             .norm_eps = static_cast<float>(any(0, 1000)) / 1e6F};
    model.rope.base = any(2, 10'000'000);
    model.rope.scaling = any_scaling();
    if (family.starts_with("deepseek")) {
      set_latent(model);
      model.experts = any_deepseek_experts(family == "deepseek_v3", model.layers);
    } else {
      set_grouped(model);
    }
    if (family.starts_with("qwen") && family.ends_with("moe")) {
      model.experts = any_qwen_experts(model.layers);
      model.experts->shared_gate = family == "qwen2_moe";
      if (model.experts->shared_gate) model.experts->shared_size = any(1, 4096);
    }
    if (family == "mixtral" || family == "gpt_oss") {
      model.experts = any_mixtral_experts(model.layers);
      model.experts->router_bias = model.experts->expert_bias = family == "gpt_oss";
    }
    if (model.experts && std::ranges::count(model.experts->dense_layers, true) == 0) {
      model.ffn_size = 0;
    }
    if (family == "granite") {
      const auto scale = [] { return static_cast<float>(any(1, 1000)) / 64.0F; };
      model.embedding_multiplier = scale();
      model.residual_multiplier = scale();
      model.attention_scale = scale();
      model.logits_divisor = scale();
    }
    model.tied_head = any_bool();
    for (int i = any(0, 4); i > 0; --i) {
      model.eos.push_back(static_cast<std::uint32_t>(100 * i + any(0, 99)));
    }
    return model;
  });
}

}  // namespace forge::testing
