// What the kernels of grouped-query attention share: where the KV of a layer lies, and what rows
// attend over. Legend: kernels.h.
#pragma once

#include <cstdint>

#include "forge/gpu/kernels/kernel_launch.h"
#include "forge/gpu/kernels/step_data.h"
#include "forge/numerics/kv_type.h"

namespace forge::gpu {

/// Where the KV of a layer lies: at pool + block * block_stride + plane(head) (model/kv_pool.h),
/// all in numbers of the type.
struct KvLayer {
  void* pool;                  ///< start of this layer: that of the pool + layer * 2 Hkv D S
  std::uint64_t block_stride;  ///< numbers of a block, all layers
  const std::uint32_t* tables;
  std::uint32_t table_stride;
  int block_size;  ///< S
  int kv_heads;    ///< Hkv
  int group_size;  ///< G
  int head_size;   ///< D
  numerics::KvType type = numerics::KvType::f32;

  FORGE_HOST_DEVICE int heads() const { return kv_heads * group_size; }
};

/// A row at position p attends over positions 0 .. p, or the last `window` of these.
struct AttentionInput {
  const PassCounts* counts;
  const RowInput* rows;
  const float* qkv;  ///< [T][(H + 2 Hkv) D], rotated
  float* out;        ///< [T][H D]
  KvLayer kv;
  float scale;
  int window = 0;                ///< positions that a row sees, its own included; 0: all
  float score_cap = 0;           ///< soft cap of the scores; 0: none
  const float* sinks = nullptr;  ///< [H] or null: a score more of each head, without a value

  /// The most positions that a row sees. Without a window it is more than any context has.
  FORGE_HOST_DEVICE int reach() const { return window > 0 ? window : 1 << 30; }
  /// First position that a row sees, of the `length` positions up to its own.
  FORGE_HOST_DEVICE int first_seen(int length) const {
    return length > reach() ? length - reach() : 0;
  }
};

/// Query heads of one row that go through the keys of their KV head together: up to kTileHeads.
inline constexpr int kTileHeads = 4;

/// The number of such tiles in a row.
FORGE_HOST_DEVICE constexpr int head_tiles(const KvLayer& kv) {
  return kv.kv_heads * ceil_div(kv.group_size, kTileHeads);
}

}  // namespace forge::gpu
