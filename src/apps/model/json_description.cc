#include "json_description.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "gguf_description.h"

namespace forge {
namespace {

using nlohmann::ordered_json;

const char* torch_name(quant::WeightType type) {
  if (type == quant::WeightType::f16) return "float16";
  return type == quant::WeightType::bf16 ? "bfloat16" : "float32";
}

const char* class_name(const std::string& family) {
  if (family == "qwen2") return "Qwen2ForCausalLM";
  if (family == "qwen3") return "Qwen3ForCausalLM";
  if (family == "qwen3_moe") return "Qwen3MoeForCausalLM";
  return "LlamaForCausalLM";
}

/// The shortest decimal of which the float is the nearest.
double shortest(float value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  double out = 0;
  std::from_chars(text.data(), end, out);
  return out;
}

/// Llama 3.1's and 3.2's parameters, with the factor that slows the slowest pairs down.
std::optional<Llama3Rope> llama3_of(const RopeConfig& rope, const TabledRope& tabled) {
  if (tabled.divisors.empty()) return std::nullopt;
  Llama3Rope guess;
  guess.factor = double{*std::max_element(tabled.divisors.begin(), tabled.divisors.end())};
  RopeConfig tried = rope;
  tried.scaling = guess;
  const std::vector<float> divisors = *rope_divisors(tried);
  constexpr double kRounding = 1e-5;  // of a few float operations in whoever made the table
  for (std::size_t i = 0; i < divisors.size(); ++i) {
    const double ratio = double{tabled.divisors[i]} / double{divisors[i]};
    if (!(std::abs(ratio - 1) < kRounding)) return std::nullopt;
  }
  return guess;
}

tl::expected<ordered_json, std::string> rope_scaling(const RopeConfig& rope) {
  if (const auto* linear = std::get_if<LinearRope>(&rope.scaling)) {
    return ordered_json{{"rope_type", "linear"}, {"factor", linear->factor}};
  }
  if (const auto* yarn = std::get_if<YarnRope>(&rope.scaling)) {
    return ordered_json{{"rope_type", "yarn"},
                        {"factor", yarn->factor},
                        {"original_max_position_embeddings", yarn->original_positions},
                        {"beta_fast", yarn->beta_fast},
                        {"beta_slow", yarn->beta_slow},
                        {"attention_factor", yarn->attention_factor}};
  }
  std::optional<Llama3Rope> llama3;
  if (const auto* said = std::get_if<Llama3Rope>(&rope.scaling)) llama3 = *said;
  if (const auto* tabled = std::get_if<TabledRope>(&rope.scaling)) {
    llama3 = llama3_of(rope, *tabled);
    if (!llama3) {
      return tl::unexpected(std::string(
          "config.json has no key for the divisors of rope_freqs.weight, which are not those of "
          "llama3 scaling with low_freq_factor 1, high_freq_factor 4 and "
          "original_max_position_embeddings 8192"));
    }
  }
  if (!llama3) return ordered_json();
  return ordered_json{{"rope_type", "llama3"},
                      {"factor", llama3->factor},
                      {"low_freq_factor", llama3->low_freq_factor},
                      {"high_freq_factor", llama3->high_freq_factor},
                      {"original_max_position_embeddings", llama3->original_positions}};
}

void add_attention(const GroupedQueryConfig& attention, const std::string& family,
                   ordered_json& out) {
  out["num_attention_heads"] = attention.heads;
  out["num_key_value_heads"] = attention.kv_heads;
  out["head_dim"] = attention.head_size;
  if (family == "llama") out["attention_bias"] = attention.output_bias;
  if (attention.sliding_window == 0) return;
  out["sliding_window"] = attention.sliding_window;
  out["use_sliding_window"] = true;
  out["max_window_layers"] = 0;
}

void add_network(const ModelConfig& config, ordered_json& out) {
  out["hidden_act"] = "silu";
  if (config.ffn_size > 0) out["intermediate_size"] = config.ffn_size;
  if (!config.experts) return;
  out["num_experts"] = config.experts->experts;
  out["num_experts_per_tok"] = config.experts->experts_per_token;
  out["moe_intermediate_size"] = config.experts->expert_size;
  out["norm_topk_prob"] = config.experts->normalised;
  out["decoder_sparse_step"] = 1;
  out["mlp_only_layers"] = ordered_json::array();
}

}  // namespace

std::string config_with_type(const std::string& text, quant::WeightType type) {
  ordered_json config = ordered_json::parse(text);
  config.erase("quantization_config");
  config[config.contains("dtype") ? "dtype" : "torch_dtype"] = torch_name(type);
  return config.dump(2) + "\n";
}

tl::expected<std::string, std::string> config_text(const ModelConfig& config,
                                                   quant::WeightType type) {
  auto scaling = rope_scaling(config.rope);
  if (!scaling) return tl::unexpected(scaling.error());
  const auto& attention = std::get<GroupedQueryConfig>(config.attention);
  if (config.family == "llama" && attention.qkv_bias != attention.output_bias) {
    return tl::unexpected(std::string(
        "config.json has no key for a llama with biases of Q, K and V alone, or of O alone"));
  }
  // A llama with a window is a Mistral, which GGUF does not tell apart.
  const bool mistral = config.family == "llama" && attention.sliding_window > 0;
  const std::string family = mistral ? "mistral" : config.family;
  ordered_json out;
  out["architectures"] = {mistral ? "MistralForCausalLM" : class_name(family)};
  out["model_type"] = family;
  out["hidden_size"] = config.hidden_size;
  out["num_hidden_layers"] = config.layers;
  out["vocab_size"] = config.vocabulary_size;
  out["max_position_embeddings"] = config.positions;
  out["rms_norm_eps"] = shortest(config.norm_eps);
  out["tie_word_embeddings"] = config.tied_head;
  add_attention(attention, family, out);
  add_network(config, out);
  out["rope_theta"] = config.rope.base;
  if (!scaling->is_null()) out["rope_scaling"] = *scaling;
  if (config.eos.size() == 1) {
    out["eos_token_id"] = config.eos.front();
  } else if (!config.eos.empty()) {
    out["eos_token_id"] = config.eos;
  }
  out["torch_dtype"] = torch_name(type);
  return out.dump(2) + "\n";
}

}  // namespace forge
