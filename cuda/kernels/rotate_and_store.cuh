// rotate_and_store: turns queries and keys by their position (RoPE) and puts keys and values into
// the KV cache.
//
//   grid      x: rows; y: heads, first those of queries, then of keys, then of values; a warp each
//   memory    a lane a pair (i, i + D/2): consecutive floats of qkv, of cosines and of sines. Keys
//             are scattered to their slot, a sector each, since the cache has them transposed;
//             that is paid once a token, and each later reading is coalesced
//   bits      rotate_pairs (numerics/vector_ops.h), pair by pair, by the host's tables
#pragma once

#include "forge/gpu/kernels/rotate_and_store.h"
#include "forge/numerics/canonical.h"
#include "forge/simt/dialect.h"
#include "kv_head.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// Pair `i` of a head, turned.
struct Pair {
  float first;
  float second;
};
FORGE_DEVICE Pair rotated(gptr<const float> head, gptr<const float> rotary, int i, int half) {
  const float first = head[i];
  const float second = head[i + half];
  const float cos = rotary[i];
  const float sin = rotary[half + i];
  return {numerics::fma(first, cos, -(second * sin)), numerics::fma(second, cos, first * sin)};
}

FORGE_KERNEL(gpu::RotateAndStoreArgs::kThreads) rotate_and_store(gpu::RotateAndStoreArgs a) {
  const auto row = static_cast<std::uint32_t>(block().x);
  const gpu::PassCounts counts = global(a.counts)[0];
  if (row >= counts.rows) return;
  const gpu::RowInput input = global(a.rows)[row];
  const gpu::KvLayer& kv = a.kv;
  const int D = kv.head_size;
  const int half = D / 2;
  const int key_head = block().y - kv.heads();    // negative: a head of queries
  const int value_head = key_head - kv.kv_heads;  // negative: one of keys
  const int heads = kv.heads() + 2 * kv.kv_heads;
  const gptr<float> head = global(a.qkv) + (std::int64_t{row} * heads + block().y) * D;
  const gptr<const float> rotary = global(a.rotary) + std::int64_t{input.position} * D;

  if (key_head < 0) {
    for (int i = lane(); i < half; i += kWarpSize) {
      const Pair turned = rotated(head, rotary, i, half);
      head[i] = turned.first;
      head[i + half] = turned.second;
    }
    return;
  }
  const int kv_head = value_head < 0 ? key_head : value_head;
  const Slot slot = slot_of(kv, input.table, kv_head, static_cast<int>(input.position));
  if (value_head < 0) {
    const gptr<float> key = global(kv.pool) + slot.key;
    for (int i = lane(); i < half; i += kWarpSize) {
      const Pair turned = rotated(head, rotary, i, half);
      key[i * kv.block_size] = turned.first;
      key[(i + half) * kv.block_size] = turned.second;
    }
  } else {
    const gptr<float> value = global(kv.pool) + slot.value;
    for (int d = lane(); d < D; d += kWarpSize) value[d] = head[d];
  }
}

}  // namespace FORGE_KERNELS
