// What the kernels of multi-head latent attention share: where the latents of a layer lie, and what
// rows attend over. How it works: model/latent_attention.h; in which order: numerics/attention.h.
//
// Legend, beyond that of kernels.h: C size of a latent, R components of a key that turn, N those of
// a head's query that do not.
#pragma once

#include <cstdint>

#include "forge/gpu/kernels/kernel_launch.h"
#include "forge/gpu/kernels/step_data.h"

namespace forge::gpu {

/// Where a layer's latents lie, one row of C + R for all heads: that of slot s of a block at
/// pool + block * block_stride + s * (C + R), as model/kv_pool.h.
struct LatentLayer {
  float* pool;                 ///< of this layer: the pool's start + layer * (C + R) S
  std::uint64_t block_stride;  ///< floats of a block, all layers
  const std::uint32_t* tables;
  std::uint32_t table_stride;
  int block_size;   ///< S
  int latent_size;  ///< C
  int rope_size;    ///< R, even

  FORGE_HOST_DEVICE int row_size() const { return latent_size + rope_size; }
};

/// All rows of a pass, decodes and rows of prompts alike. A row at position p attends over
/// positions 0 .. p.
struct LatentAttentionInput {
  const PassCounts* counts;
  const RowInput* rows;
  const float* queries;  ///< [T][H][C + R], in terms of latents, then turned
  float* out;            ///< [T][H][C]
  LatentLayer latents;
  int heads;  ///< H
  float scale;
};

/// Heads of one row that go through the latents together.
inline constexpr int kLatentTileHeads = 16;

}  // namespace forge::gpu
