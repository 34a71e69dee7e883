#include "json_description.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>

#include "forge/checkpoint/hf_config.h"
#include "json_rope.h"

namespace forge::apps {
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
  if (family == "deepseek_v2") return "DeepseekV2ForCausalLM";
  if (family == "deepseek_v3") return "DeepseekV3ForCausalLM";
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

void add_attention(const model::GroupedQueryConfig& attention, const std::string& family,
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

void add_attention(const model::LatentConfig& latent, ordered_json& out) {
  out["num_attention_heads"] = latent.heads;
  out["num_key_value_heads"] = latent.heads;
  out["q_lora_rank"] = latent.query_rank == 0 ? ordered_json() : ordered_json(latent.query_rank);
  out["kv_lora_rank"] = latent.kv_rank;
  out["qk_nope_head_dim"] = latent.nope_size;
  out["qk_rope_head_dim"] = latent.rope_size;
  out["v_head_dim"] = latent.value_size;
  out["attention_bias"] = false;
}

void add_qwen_experts(const model::ExpertsConfig& experts, ordered_json& out) {
  out["num_experts"] = experts.experts;
  out["num_experts_per_tok"] = experts.experts_per_token;
  out["moe_intermediate_size"] = experts.expert_size;
  out["norm_topk_prob"] = experts.normalised;
  out["decoder_sparse_step"] = 1;
  out["mlp_only_layers"] = ordered_json::array();
  for (std::size_t i = 0; i < experts.dense_layers.size(); ++i) {
    if (experts.dense_layers[i]) out["mlp_only_layers"].push_back(i);
  }
}

void add_deepseek_experts(const model::ExpertsConfig& experts, ordered_json& out) {
  const bool sigmoid = experts.score == model::ExpertScore::sigmoid;  // in V3
  const auto dense = std::ranges::find(experts.dense_layers, false);
  out["n_routed_experts"] = experts.experts;
  out["num_experts_per_tok"] = experts.experts_per_token;
  out["moe_intermediate_size"] = experts.expert_size;
  out["n_shared_experts"] = experts.shared_size / experts.expert_size;
  out["routed_scaling_factor"] = shortest(experts.routed_scale);
  out["first_k_dense_replace"] = dense - experts.dense_layers.begin();
  out["moe_layer_freq"] = 1;
  out["norm_topk_prob"] = experts.normalised;
  out["scoring_func"] = sigmoid ? "sigmoid" : "softmax";
  out["topk_method"] = sigmoid              ? "noaux_tc"
                       : experts.groups > 1 ? "group_limited_greedy"
                                            : "greedy";
  out["n_group"] = experts.groups;
  out["topk_group"] = experts.groups_per_token;
}

void add_network(const model::ModelConfig& config, ordered_json& out) {
  out["hidden_act"] = "silu";
  if (config.ffn_size > 0) out["intermediate_size"] = config.ffn_size;
  if (!config.experts) return;
  if (std::holds_alternative<model::LatentConfig>(config.attention)) {
    add_deepseek_experts(*config.experts, out);
  } else {
    add_qwen_experts(*config.experts, out);
  }
}

/// The model as it is to be found in config.json: GGUF has other names for some of the same.
tl::expected<model::ModelConfig, std::string> as_in_json(model::ModelConfig config) {
  auto scaling = json_scaling(config.rope);
  if (!scaling) return tl::unexpected(scaling.error());
  config.rope.scaling = *std::move(scaling);
  const auto* const grouped = std::get_if<model::GroupedQueryConfig>(&config.attention);
  if (grouped == nullptr) return config;
  // The rows of Q and K are put in the other order (output_tensors.h).
  config.rope.pairing = model::RopePairing::halves;
  if (config.family == "llama" && grouped->qkv_bias != grouped->output_bias) {
    return tl::unexpected(std::string(
        "config.json has no key for a llama with biases of Q, K and V alone, or of O alone"));
  }
  // A llama with a window is a Mistral, which GGUF does not tell apart.
  if (config.family == "llama" && grouped->sliding_window > 0) config.family = "mistral";
  return config;
}

ordered_json json_of(const model::ModelConfig& config, quant::WeightType type) {
  ordered_json out;
  out["architectures"] = {class_name(config.family)};
  out["model_type"] = config.family;
  out["hidden_size"] = config.hidden_size;
  out["num_hidden_layers"] = config.layers;
  out["vocab_size"] = config.vocabulary_size;
  out["max_position_embeddings"] = config.positions;
  out["rms_norm_eps"] = shortest(config.norm_eps);
  out["tie_word_embeddings"] = config.tied_head;
  if (const auto* latent = std::get_if<model::LatentConfig>(&config.attention)) {
    add_attention(*latent, out);
  } else {
    add_attention(std::get<model::GroupedQueryConfig>(config.attention), config.family, out);
  }
  add_network(config, out);
  out["rope_theta"] = config.rope.base;
  if (auto scaling = rope_scaling(config); !scaling.is_null()) out["rope_scaling"] = scaling;
  if (config.eos.size() == 1) {
    out["eos_token_id"] = config.eos.front();
  } else if (!config.eos.empty()) {
    out["eos_token_id"] = config.eos;
  }
  out["torch_dtype"] = torch_name(type);
  return out;
}

/// The first part in which two models differ; null where they are equal.
const char* difference(const model::ModelConfig& a, const model::ModelConfig& b) {
  if (a.family != b.family) return "family";
  if (a.attention != b.attention) return "attention";
  if (a.attention_scale != b.attention_scale) return "scale of the attention's scores";
  if (a.rope != b.rope) return "RoPE";
  if (a.experts != b.experts) return "experts";
  return a == b ? nullptr : "sizes";
}

}  // namespace

std::string config_with_type(const std::string& text, quant::WeightType type) {
  ordered_json config = ordered_json::parse(text);
  config.erase("quantization_config");
  config[config.contains("dtype") ? "dtype" : "torch_dtype"] = torch_name(type);
  return config.dump(2) + "\n";
}

tl::expected<std::string, std::string> config_text(const model::ModelConfig& config,
                                                   quant::WeightType type) {
  const auto wanted = as_in_json(config);
  if (!wanted) return tl::unexpected(wanted.error());
  std::string text = json_of(*wanted, type).dump(2) + "\n";
  // What has no key must not be lost without a word, so the text is read again.
  const auto read = checkpoint::parse_hf_config(text, "config.json");
  if (!read) return tl::unexpected("config.json cannot say this model: " + read.error().message);
  if (const char* const part = difference(*wanted, read->model)) {
    return tl::unexpected("config.json cannot say this model: it has no keys for its " +
                          std::string(part));
  }
  return text;
}

}  // namespace forge::apps
