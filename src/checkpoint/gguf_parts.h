// The parts of GGUF's metadata that are read on their own.
#pragma once

#include <string_view>
#include <vector>

#include "forge/model/model_config.h"
#include "gguf_fields.h"
#include "key_names.h"

namespace forge::checkpoint::detail {

/// RoPE of whole heads, their pairs as `pairing` says. `head_size`: where rope.dimension_count is
/// left out. `positions`: context_length.
model::RopeConfig read_gguf_rope(GgufFields& fields, model::RopePairing pairing, int head_size,
                                 int positions);

struct GgufLatentRope {
  model::RopeConfig rope;
  /// What the softmax scale is multiplied by: (0.1 mscale_all_dim ln factor + 1)^2 where YaRN is
  /// on, otherwise 1.
  double latent_scale = 1;
};

/// RoPE of the part of a latent head that turns.
GgufLatentRope read_gguf_latent_rope(GgufFields& fields, int positions);

/// Latent attention whose part that turns has `rope_size` components.
model::LatentConfig read_gguf_latent(GgufFields& fields, int rope_size);

/// Mixture of experts as the architectures have it. `layers`: block_count.
model::ExpertsConfig read_gguf_qwen_experts(GgufFields& fields, int layers);
model::ExpertsConfig read_gguf_deepseek_experts(GgufFields& fields, int layers);

/// What the metadata of `architecture` calls the fields of its ModelConfig.
std::vector<KeyName> gguf_key_names(std::string_view architecture);

}  // namespace forge::checkpoint::detail
