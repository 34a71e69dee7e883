// KvLayers: where attention finds the KV of a layer, or its latents, and how the layer turns its
// heads.
#pragma once

#include <cstdint>

#include "capacity.h"
#include "device_pass.h"
#include "forge/gpu/kernels/attention_input.h"
#include "forge/gpu/kernels/latent_input.h"
#include "forge/model/model_config.h"

namespace forge::gpu {

/// Of the blocks of all layers.
class KvLayers {
 public:
  explicit KvLayers(const Capacity& capacity)
      : block_size_(static_cast<int>(capacity.block_size)),
        type_(capacity.kv_type),
        block_numbers_(capacity.block_numbers),
        layer_bytes_(capacity.layer_numbers * bytes_of(capacity.kv_type)) {}

  KvLayer of(const DevicePass& pass, const model::GroupedQueryConfig& attention, int layer) const {
    return {.pool = pool_of(pass, layer),
            .block_stride = block_numbers_,
            .tables = pass.tables.device(),
            .table_stride = pass.tables.stride(),
            .block_size = block_size_,
            .kv_heads = attention.kv_heads,
            .group_size = attention.heads / attention.kv_heads,
            .head_size = attention.head_size,
            .type = type_};
  }

  LatentLayer of(const DevicePass& pass, const model::LatentConfig& attention, int layer) const {
    return {.pool = pool_of(pass, layer),
            .block_stride = block_numbers_,
            .tables = pass.tables.device(),
            .table_stride = pass.tables.stride(),
            .block_size = block_size_,
            .latent_size = attention.kv_rank,
            .rope_size = attention.rope_size,
            .type = type_};
  }

 private:
  std::byte* pool_of(const DevicePass& pass, int layer) const {
    return pass.pool + static_cast<std::uint64_t>(layer) * layer_bytes_;
  }

  int block_size_;
  numerics::KvType type_;
  std::uint64_t block_numbers_;
  std::uint64_t layer_bytes_;  // of a block
};

/// The RoPE of a layer.
struct LayerRope {
  const float* table;  ///< [positions][2][size / 2]
  int size;            ///< 0: nothing turns
  bool adjacent;

  static LayerRope of(const DevicePass& pass, const model::ModelConfig& model, int layer) {
    const model::RopeConfig* const rope = rope_of(model, layer);
    if (rope == nullptr) return {pass.rotary, 0, false};
    return {rope == &model.rope ? pass.rotary : pass.window_rotary, rope->size,
            rope->pairing == model::RopePairing::adjacent};
  }
};

}  // namespace forge::gpu
