#include "hf_parts.h"

namespace forge::checkpoint::detail {
namespace {

void add_rope(const ConfigFields& fields, std::vector<KeyName>& names) {
  const char* const object = fields.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  const std::string prefix = std::string(object) + ".";
  for (const char* const key :
       {"low_freq_factor", "high_freq_factor", "beta_fast", "beta_slow", "attention_factor"}) {
    names.push_back({std::string("rope.scaling.") + key, prefix + key});
  }
  const auto scaling = fields.object(object);
  const bool derived = !scaling || !scaling->has("factor");
  names.push_back(
      {"rope.scaling.factor",
       derived ? "max_position_embeddings / original_max_position_embeddings" : prefix + "factor"});
  names.push_back({"rope.scaling.original_positions", prefix + "original_max_position_embeddings"});
}

std::string experts_key(const ConfigFields& fields) {
  for (const char* const key : {"n_routed_experts", "num_experts"}) {
    if (fields.has(key)) return key;
  }
  return "num_local_experts";
}

}  // namespace

std::vector<KeyName> hf_key_names(const ConfigFields& fields, bool latent) {
  const std::string head_dim =
      fields.has("head_dim") ? "head_dim" : "hidden_size / num_attention_heads";
  std::vector<KeyName> names = {{"vocabulary_size", "vocab_size"},
                                {"layers", "num_hidden_layers"},
                                {"positions", "max_position_embeddings"},
                                {"norm_eps", "rms_norm_eps"},
                                {"ffn_size", "intermediate_size"},
                                {"attention_scale", "attention_multiplier"},
                                {"logits_divisor", "logits_scaling"},
                                {"heads", "num_attention_heads"},
                                {"kv_heads", "num_key_value_heads"},
                                {"head_size", head_dim},
                                {"query_rank", "q_lora_rank"},
                                {"kv_rank", "kv_lora_rank"},
                                {"nope_size", "qk_nope_head_dim"},
                                {"rope_size", "qk_rope_head_dim"},
                                {"value_size", "v_head_dim"},
                                {"rope.size", latent ? "qk_rope_head_dim" : head_dim},
                                {"rope.base", "rope_theta"},
                                {"experts.experts", experts_key(fields)},
                                {"experts.experts_per_token", "num_experts_per_tok"},
                                {"experts.expert_size", "moe_intermediate_size"},
                                {"experts.groups", "n_group"},
                                {"experts.groups_per_token", "topk_group"},
                                {"experts.routed_scale", "routed_scaling_factor"}};
  add_rope(fields, names);
  return names;
}

}  // namespace forge::checkpoint::detail
