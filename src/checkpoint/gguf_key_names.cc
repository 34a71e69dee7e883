#include <string>

#include "gguf_parts.h"

namespace forge::checkpoint::detail {

std::vector<KeyName> gguf_key_names(std::string_view architecture) {
  std::vector<KeyName> names = {{"vocabulary_size", "vocab_size"},
                                {"hidden_size", "embedding_length"},
                                {"layers", "block_count"},
                                {"positions", "context_length"},
                                {"norm_eps", "attention.layer_norm_rms_epsilon"},
                                {"ffn_size", "feed_forward_length"},
                                {"heads", "attention.head_count"},
                                {"kv_heads", "attention.head_count_kv"},
                                {"head_size", "attention.key_length"},
                                {"query_rank", "attention.q_lora_rank"},
                                {"kv_rank", "attention.kv_lora_rank"},
                                {"rope_size", "rope.dimension_count"},
                                {"value_size", "attention.value_length"},
                                {"rope.size", "rope.dimension_count"},
                                {"rope.base", "rope.freq_base"},
                                {"rope.scaling.factor", "rope.scaling.factor"},
                                {"rope.scaling.beta_fast", "rope.scaling.yarn_beta_fast"},
                                {"rope.scaling.beta_slow", "rope.scaling.yarn_beta_slow"},
                                {"experts.experts", "expert_count"},
                                {"experts.experts_per_token", "expert_used_count"},
                                {"experts.expert_size", "expert_feed_forward_length"},
                                {"experts.groups", "expert_group_count"},
                                {"experts.groups_per_token", "expert_group_used_count"},
                                {"experts.routed_scale", "expert_weights_scale"}};
  const std::string prefix = std::string(architecture) + ".";
  for (KeyName& name : names) name.key = prefix + name.key;
  names.push_back(
      {"nope_size", prefix + "attention.key_length - " + prefix + "rope.dimension_count"});
  return names;
}

}  // namespace forge::checkpoint::detail
