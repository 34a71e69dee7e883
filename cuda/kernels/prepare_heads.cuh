// prepare_heads: norms and turns heads of queries and keys, rounds queries to 16 bits and puts keys
// and values into the KV cache.
//
//   grid      x: rows; y: with few rows, eight heads, a warp each, so that all of them are under
//             way; with more, all heads, one after the other: what a warp looks up for its row, it
//             looks up once. First come those of queries, then of keys, then of values
//   memory    a lane a component for the norm, then a lane a pair, as rotate_and_store, which finds
//             the head in the cache. A norm of all heads is of the whole row of queries or of keys:
//             each warp reads it, from the L2 cache but for the first time. What is written is
//             consecutive, 64 bytes a warp and request, or in pairs (2i, 2i + 1) every other number
//   bits      norm_scale (rms_norm.cuh) and the two products of rms_norm, component by component,
//             when a pair is read; then the pair turns (rotate_and_store.cuh), in floats, and what
//             comes out is rounded once, as the cache's numbers are (numerics/kv_type.h)
//
// Each component belongs to one pair, so it is normed once, and no lane needs what another did.
#pragma once

#include "forge/gpu/kernels/prepare_heads.h"
#include "forge/simt/dialect.h"
#include "half_rows.cuh"
#include "rms_norm.cuh"
#include "rotate_and_store.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// A head of a row as its norm leaves it: head[d] is component d.
struct NormedHead {
  gptr<const float> x;  ///< [D]
  const float* weight;  ///< [D], or null: there is no norm
  float scale;          ///< of the norm

  FORGE_DEVICE float operator[](int d) const {
    const float component = x[d];
    if (weight == nullptr) return component;
    const float scaled = component * scale;
    return scaled * global(weight)[d];
  }
};

/// Head number `head` of the `count` heads of queries, or of keys, that lie at `heads`. weight:
/// that of their norms.
FORGE_DEVICE NormedHead normed_head(const gpu::PrepareHeadsArgs& a, const float* weight,
                                    gptr<const float> heads, int head, int count) {
  const int D = a.kv.head_size;
  const gptr<const float> x = heads + std::int64_t{head} * D;
  if (weight == nullptr) return {x, nullptr, 1.0f};
  if (!a.norms.of_all_heads) return {x, weight, norm_scale(x, D, a.norms.eps)};
  return {x, weight + std::int64_t{head} * D, norm_scale(heads, count * D, a.norms.eps)};
}

/// A row, and where its heads and what it is turned by lie.
struct PreparedRow {
  std::uint32_t index;
  gpu::RowInput input;
  gptr<const float> heads;  ///< all of the row
  Rotation rotation;
};

/// Head number `index` of a row goes where attention reads it.
template <class Half>
FORGE_DEVICE void prepare_head(const gpu::PrepareHeadsArgs& a, const PreparedRow& row, int index) {
  const auto& [row_index, input, heads, rotation] = row;
  const gpu::KvLayer& kv = a.kv;
  const int D = kv.head_size;
  const int H = kv.heads();
  const int key_head = index - H;                 // negative: a head of queries
  const int value_head = key_head - kv.kv_heads;  // negative: one of keys
  if (key_head < 0) {
    const NormedHead query = normed_head(a, a.norms.query, heads, index, H);
    const gptr<Half> q =
        global(static_cast<Half*>(a.q)) + (std::int64_t{row_index} * H + index) * D;
    return store_turned(rotation, query, D, q, 1);
  }
  const int kv_head = value_head < 0 ? key_head : value_head;
  const Slot slot = slot_of(kv, input.table, kv_head, static_cast<int>(input.position));
  const gptr<const float> keys = heads + std::int64_t{H} * D;
  if (value_head < 0) {
    const NormedHead key = normed_head(a, a.norms.key, keys, key_head, kv.kv_heads);
    store_turned(rotation, key, D, numbers_of<Half>(kv) + slot.key, key_stride(kv));
  } else {
    const gptr<const float> values = keys + std::int64_t{kv.kv_heads} * D;
    store_value<Half>(kv, values + std::int64_t{value_head} * D, slot);
  }
}

FORGE_KERNEL(gpu::PrepareHeadsArgs::kThreads, gpu::PrepareHeadsArgs::kBlocks)
prepare_heads(gpu::PrepareHeadsArgs a) {
  start_next();
  wait_for_previous();
  const auto row = static_cast<std::uint32_t>(block().x);
  const gpu::PassCounts counts = global(a.counts)[0];
  if (row >= counts.rows) return;
  const gpu::RowInput input = global(a.rows)[row];
  const int heads = a.head_count();
  const PreparedRow prepared{row, input, global(a.qkv) + std::int64_t{row} * heads * a.kv.head_size,
                             rotation_of(a, input.position)};
  constexpr int kWarps = gpu::PrepareHeadsArgs::kThreads / kWarpSize;
  with_half(numerics::half_type(a.kv.type), [&](auto half) {
    FORGE_ROLLED for (int i = block().y * kWarps + warp(); i < heads; i += grid().y * kWarps) {
      prepare_head<decltype(half)>(a, prepared, i);
    }
  });
}

}  // namespace FORGE_KERNELS
