// The parts of a config.json that are read on their own.
#pragma once

#include <vector>

#include "forge/checkpoint/hf_config.h"
#include "json_fields.h"
#include "key_names.h"

namespace forge::checkpoint::detail {

struct HfRope {
  double base = 10000;
  model::RopeScaling scaling;
  /// What DeepSeek's models multiply the softmax scale by: (0.1 mscale_all_dim ln factor + 1)^2,
  /// where YaRN has mscale_all_dim; otherwise 1.
  double latent_scale = 1;
};

/// rope_parameters, or rope_theta and rope_scaling. `positions`: max_position_embeddings.
HfRope read_hf_rope(const ConfigFields& fields, int positions);

/// Mixture of experts as the families have it. `layers`: num_hidden_layers.
model::ExpertsConfig read_qwen_experts(const ConfigFields& fields, int layers);
model::ExpertsConfig read_deepseek_v2_experts(const ConfigFields& fields, int layers);
model::ExpertsConfig read_deepseek_v3_experts(const ConfigFields& fields, int layers);

/// quantization_config, where there is one.
HfQuantization read_hf_quantization(const ConfigFields& fields);

/// What config.json calls the fields of its ModelConfig. `latent`: its attention is.
std::vector<KeyName> hf_key_names(const ConfigFields& fields, bool latent);

}  // namespace forge::checkpoint::detail
