#include "forge/checkpoint/tensor_names.h"

#include <algorithm>

namespace forge::checkpoint {
namespace {

struct Pair {
  std::string_view hf;
  std::string_view gguf;
};

constexpr Pair kOfModel[] = {
    {"model.embed_tokens", "token_embd"}, {"model.norm", "output_norm"}, {"lm_head", "output"}};

constexpr Pair kOfLayers[] = {{"input_layernorm", "attn_norm"},
                              {"post_attention_layernorm", "ffn_norm"},
                              {"self_attn.q_proj", "attn_q"},
                              {"self_attn.k_proj", "attn_k"},
                              {"self_attn.v_proj", "attn_v"},
                              {"self_attn.o_proj", "attn_output"},
                              {"self_attn.q_norm", "attn_q_norm"},
                              {"self_attn.k_norm", "attn_k_norm"},
                              {"mlp.gate_proj", "ffn_gate"},
                              {"mlp.up_proj", "ffn_up"},
                              {"mlp.down_proj", "ffn_down"},
                              {"mlp.gate", "ffn_gate_inp"},
                              {"self_attn.q_a_proj", "attn_q_a"},
                              {"self_attn.q_a_layernorm", "attn_q_a_norm"},
                              {"self_attn.q_b_proj", "attn_q_b"},
                              {"self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa"},
                              {"self_attn.kv_a_layernorm", "attn_kv_a_norm"},
                              {"self_attn.kv_b_proj", "attn_kv_b"},
                              {"self_attn.k_b_proj", "attn_k_b"},
                              {"self_attn.v_b_proj", "attn_v_b"},
                              {"mlp.shared_experts.gate_proj", "ffn_gate_shexp"},
                              {"mlp.shared_experts.up_proj", "ffn_up_shexp"},
                              {"mlp.shared_experts.down_proj", "ffn_down_shexp"}};

constexpr Pair kOfExperts[] = {
    {"gate_proj", "ffn_gate_exps"}, {"up_proj", "ffn_up_exps"}, {"down_proj", "ffn_down_exps"}};

/// How names of layers start, and the one name of them whose suffix is not the same in both.
struct Convention {
  std::string_view layer;
  std::string_view correction_bias;
};

constexpr Convention kHf = {"model.layers.", "mlp.gate.e_score_correction_bias"};
constexpr Convention kGguf = {"blk.", "exp_probs_b.bias"};
constexpr std::string_view kHfExpert = "mlp.experts.";

template <std::size_t kCount>
std::string_view find(const Pair (&pairs)[kCount], std::string_view Pair::*from,
                      std::string_view Pair::*to, std::string_view name) {
  const auto found = std::find_if(std::begin(pairs), std::end(pairs),
                                  [&](const Pair& pair) { return pair.*from == name; });
  return found == std::end(pairs) ? std::string_view() : (*found).*to;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// "17.rest": takes the number and the dot.
std::optional<int> take_number(std::string_view& text) {
  constexpr std::size_t kDigitsMax = 6;
  const std::size_t digits = std::min(text.find('.'), text.size());
  if (digits == 0 || digits > kDigitsMax || digits == text.size()) return std::nullopt;
  if (digits > 1 && text[0] == '0') return std::nullopt;
  int number = 0;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = 10 * number + (c - '0');
  }
  text.remove_prefix(digits + 1);
  return number;
}

/// Splits ".weight" or ".bias" off.
std::optional<std::string_view> take_suffix(std::string_view& text) {
  for (const std::string_view suffix : {".weight", ".bias"}) {
    if (!text.ends_with(suffix)) continue;
    text.remove_suffix(suffix.size());
    return suffix;
  }
  return std::nullopt;
}

/// The name of a layer's correction bias in the other convention; none if `name` is another's.
std::optional<std::string> renamed_correction_bias(std::string_view name, const Convention& from,
                                                   const Convention& to) {
  if (!take(name, from.layer)) return std::nullopt;
  const auto layer = take_number(name);
  if (!layer || name != from.correction_bias) return std::nullopt;
  return std::string(to.layer) + std::to_string(*layer) + "." + std::string(to.correction_bias);
}

}  // namespace

std::optional<GgufName> gguf_name(std::string_view name) {
  if (auto bias = renamed_correction_bias(name, kHf, kGguf)) {
    return GgufName{*std::move(bias), std::nullopt};
  }
  const auto suffix = take_suffix(name);
  if (!suffix) return std::nullopt;
  std::string prefix;
  std::optional<int> expert;
  std::string_view role;
  if (take(name, kHf.layer)) {
    const auto layer = take_number(name);
    if (!layer) return std::nullopt;
    prefix = std::string(kGguf.layer) + std::to_string(*layer) + ".";
    if (take(name, kHfExpert)) {
      expert = take_number(name);
      if (expert) role = find(kOfExperts, &Pair::hf, &Pair::gguf, name);
    } else {
      role = find(kOfLayers, &Pair::hf, &Pair::gguf, name);
    }
  } else {
    role = find(kOfModel, &Pair::hf, &Pair::gguf, name);
  }
  if (role.empty()) return std::nullopt;
  return GgufName{prefix.append(role).append(*suffix), expert};
}

std::optional<std::string> hf_name(const GgufName& gguf) {
  std::string_view name = gguf.name;
  if (!gguf.expert) {
    if (auto bias = renamed_correction_bias(name, kGguf, kHf)) return bias;
  }
  const auto suffix = take_suffix(name);
  if (!suffix) return std::nullopt;
  std::string prefix;
  std::string_view role;
  if (take(name, kGguf.layer)) {
    const auto layer = take_number(name);
    if (!layer) return std::nullopt;
    prefix = std::string(kHf.layer) + std::to_string(*layer) + ".";
    if (gguf.expert) {
      prefix += std::string(kHfExpert) + std::to_string(*gguf.expert) + ".";
      role = find(kOfExperts, &Pair::gguf, &Pair::hf, name);
    } else {
      role = find(kOfLayers, &Pair::gguf, &Pair::hf, name);
    }
  } else if (!gguf.expert) {
    role = find(kOfModel, &Pair::gguf, &Pair::hf, name);
  }
  if (role.empty()) return std::nullopt;
  return prefix.append(role).append(*suffix);
}

}  // namespace forge::checkpoint
