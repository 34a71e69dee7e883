#include "gguf_description.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "forge/model/rope_frequencies.h"

namespace forge::apps {
namespace {

struct Architecture {
  const char* family;
  const char* name;
};
constexpr Architecture kArchitectures[] = {{"llama", "llama"},
                                           {"mistral", "llama"},
                                           {"qwen2", "qwen2"},
                                           {"qwen3", "qwen3"},
                                           {"qwen3_moe", "qwen3moe"}};

/// Of a text, a turn of a chat, a message in it.
constexpr const char* kEnds[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                 "tokenizer.ggml.eom_token_id"};

tl::unexpected<std::string> has_no(const std::string& what) {
  return tl::unexpected("GGUF has no key for " + what);
}

tl::expected<std::string, std::string> architecture_of(const model::ModelConfig& config) {
  std::string families;
  for (const Architecture& known : kArchitectures) {
    if (config.family == known.family) return std::string(known.name);
    families += (families.empty() ? "" : ", ") + std::string(known.family);
  }
  return tl::unexpected("models of family " + config.family +
                        " cannot be written as GGUF; accepted are " + families);
}

void add_attention(const model::GroupedQueryConfig& attention, const std::string& prefix,
                   GgufKeys& keys) {
  const auto set = [&](const char* key, int value) {
    keys.set_u32(prefix + key, static_cast<std::uint64_t>(value));
  };
  set("attention.head_count", attention.heads);
  set("attention.head_count_kv", attention.kv_heads);
  set("attention.key_length", attention.head_size);
  set("attention.value_length", attention.head_size);
  if (attention.sliding_window > 0) set("attention.sliding_window", attention.sliding_window);
}

void add_experts(const model::ExpertsConfig& experts, const std::string& prefix, GgufKeys& keys) {
  const auto set = [&](const char* key, int value) {
    keys.set_u32(prefix + key, static_cast<std::uint64_t>(value));
  };
  set("expert_count", experts.experts);
  set("expert_used_count", experts.experts_per_token);
  set("expert_feed_forward_length", experts.expert_size);
  keys.set(prefix + "expert_weights_norm", experts.normalised);
  if (experts.routed_scale != 1) {
    keys.set_f32(prefix + "expert_weights_scale", double{experts.routed_scale});
  }
}

tl::expected<void, std::string> add_rope(const model::RopeConfig& rope, const std::string& prefix,
                                         GgufKeys& keys) {
  keys.set_u32(prefix + "rope.dimension_count", static_cast<std::uint64_t>(rope.size));
  keys.set_f32(prefix + "rope.freq_base", rope.base);
  if (const auto* linear = std::get_if<model::LinearRope>(&rope.scaling)) {
    keys.set_text(prefix + "rope.scaling.type", "linear");
    keys.set_f32(prefix + "rope.scaling.factor", linear->factor);
  } else if (const auto* yarn = std::get_if<model::YarnRope>(&rope.scaling)) {
    if (!yarn->truncate) return has_no("YaRN with truncate false");
    if (yarn->original_positions != std::floor(yarn->original_positions)) {
      return has_no("original_max_position_embeddings that is no integer");
    }
    keys.set_text(prefix + "rope.scaling.type", "yarn");
    keys.set_f32(prefix + "rope.scaling.factor", yarn->factor);
    keys.set_u32(prefix + "rope.scaling.original_context_length",
                 static_cast<std::uint64_t>(yarn->original_positions));
    keys.set_f32(prefix + "rope.scaling.yarn_beta_fast", yarn->beta_fast);
    keys.set_f32(prefix + "rope.scaling.yarn_beta_slow", yarn->beta_slow);
    // Readers multiply the paper's temperature in.
    const double more = yarn->attention_factor / (0.1 * std::log(yarn->factor) + 1);
    if (std::abs(more - 1) > 1e-12) keys.set_f32(prefix + "rope.scaling.attn_factor", more);
  }
  return {};
}

/// What all of kArchitectures have in common, and a configuration of these families may still lack.
tl::expected<void, std::string> check(const model::ModelConfig& config) {
  if (!std::holds_alternative<model::GroupedQueryConfig>(config.attention)) {
    return has_no("latent attention");
  }
  if (config.eos.size() > std::size(kEnds)) {
    return has_no("more than three tokens that end a text");
  }
  if (config.experts) {
    const std::vector<bool>& dense = config.experts->dense_layers;
    if (std::find(dense.begin(), dense.end(), true) != dense.end()) {
      return has_no("single layers without experts");
    }
  }
  return {};
}

}  // namespace

tl::expected<void, std::string> describe_in_gguf(const model::ModelConfig& config, GgufKeys& keys) {
  const auto architecture = architecture_of(config);
  if (!architecture) return tl::unexpected(architecture.error());
  if (auto fits = check(config); !fits) return fits;
  const std::string prefix = *architecture + ".";
  const auto set = [&](const char* key, int value) {
    keys.set_u32(prefix + key, static_cast<std::uint64_t>(value));
  };
  keys.set_text("general.architecture", *architecture);
  keys.set_text("general.type", "model");
  set("block_count", config.layers);
  set("context_length", config.positions);
  set("embedding_length", config.hidden_size);
  if (config.ffn_size > 0) set("feed_forward_length", config.ffn_size);
  set("vocab_size", config.vocabulary_size);
  keys.set_f32(prefix + "attention.layer_norm_rms_epsilon", double{config.norm_eps});
  add_attention(std::get<model::GroupedQueryConfig>(config.attention), prefix, keys);
  if (config.experts) add_experts(*config.experts, prefix, keys);
  for (std::size_t i = 0; i < config.eos.size(); ++i) keys.set_u32(kEnds[i], config.eos[i]);
  return add_rope(config.rope, prefix, keys);
}

tl::expected<void, std::string> check_for_gguf(const model::ModelConfig& config) {
  GgufKeys unwanted;
  return describe_in_gguf(config, unwanted);
}

std::optional<std::vector<float>> rope_divisors(const model::RopeConfig& rope) {
  if (const auto* tabled = std::get_if<model::TabledRope>(&rope.scaling)) return tabled->divisors;
  if (!std::holds_alternative<model::Llama3Rope>(rope.scaling)) return std::nullopt;
  model::RopeConfig unscaled = rope;
  unscaled.scaling = std::monostate();
  const std::vector<double> fast = rope_frequencies(unscaled);
  const std::vector<double> slow = rope_frequencies(rope);
  std::vector<float> divisors;
  for (std::size_t i = 0; i < fast.size(); ++i) {
    divisors.push_back(static_cast<float>(fast[i] / slow[i]));
  }
  return divisors;
}

}  // namespace forge::apps
