// What the kernels of multi-head latent attention share: where the latents of a layer lie, and what
// rows attend over. model/latent_attention.h says how it works, numerics/attention.h in which
// order.
//
// Legend, beyond that of kernels.h: C is the size of a latent, R the number of components of a key
// that turn, N the number of components of a head's query that do not.
#pragma once

#include <cstdint>

#include "forge/gpu/kernels/kernel_launch.h"
#include "forge/gpu/kernels/step_data.h"
#include "forge/numerics/kv_type.h"

namespace forge::gpu {

/// Where the latents of a layer lie, one row of C + R for all heads: the row of slot s of a block
/// is at pool + block * block_stride + s * (C + R) (model/kv_pool.h), all in numbers of the type.
struct LatentLayer {
  void* pool;                  ///< start of this layer: that of the pool + layer * (C + R) S
  std::uint64_t block_stride;  ///< numbers of a block, all layers
  const std::uint32_t* tables;
  std::uint32_t table_stride;
  int block_size;   ///< S
  int latent_size;  ///< C
  int rope_size;    ///< R, even
  numerics::KvType type = numerics::KvType::f32;

  FORGE_HOST_DEVICE int row_size() const { return latent_size + rope_size; }
};

/// All rows of a pass, decodes and rows of prompts alike. A row at position p attends over
/// positions 0 .. p.
struct LatentAttentionInput {
  const PassCounts* counts;
  const RowInput* rows;
  const float* queries;  ///< [T][H][C + R]: C in terms of latents, then R that are turned
  float* out;            ///< [T][H][C]
  LatentLayer latents;
  int heads;  ///< H
  float scale;
};

/// Heads of one row that go through the latents together.
inline constexpr int kLatentTileHeads = 16;

}  // namespace forge::gpu
