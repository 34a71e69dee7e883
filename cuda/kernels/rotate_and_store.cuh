// rotate_and_store: turns queries and keys by their position (RoPE) and puts keys and values into
// the KV cache.
//
//   grid      x: rows; y: heads, first those of queries, then of keys, then of values; a warp each
//   memory    a lane a pair: consecutive floats of cosines, sines and, in pairs (i, i + half), of
//             qkv; in pairs (2i, 2i + 1) every other float, twice. Keys of f32 are scattered to
//             their slot, a sector each, since the cache has them transposed; that is paid once a
//             token, and each later reading is coalesced. Keys of 16 bits are consecutive
//   bits      rotate_pairs or rotate_adjacent_pairs (numerics/vector_ops.h), pair by pair, by the
//             host's tables. Components beyond those that turn are moved. The cache has them
//             rounded to its type (numerics/kv_type.h)
#pragma once

#include "forge/gpu/kernels/rotate_and_store.h"
#include "forge/numerics/canonical.h"
#include "forge/simt/dialect.h"
#include "kv_head.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// How the heads at one position turn.
struct Rotation {
  gptr<const float> angles;  ///< [2][size / 2]: cosines, sines
  int size;                  ///< components of a head that turn
  bool adjacent;             ///< pairs are 2i and 2i + 1
};

/// The rotation at `position`. Args: RotateAndStoreArgs or PrepareHeadsArgs.
template <class Args>
FORGE_DEVICE Rotation rotation_of(const Args& a, std::uint32_t position) {
  return {global(a.rotary) + std::int64_t{position} * a.rotary_size, a.rotary_size, a.adjacent};
}

/// Two components of a head that turn together: where they are, and what becomes of them.
struct Pair {
  int first_at;
  int second_at;
  float first;
  float second;
};

/// Pair `i` of a head, of which head[d] is component d.
template <class Head>
FORGE_DEVICE Pair rotated(const Rotation& rotation, const Head& head, int i) {
  const int half = rotation.size / 2;
  const int first_at = rotation.adjacent ? 2 * i : i;
  const int second_at = rotation.adjacent ? 2 * i + 1 : i + half;
  const float first = head[first_at];
  const float second = head[second_at];
  const float cos = rotation.angles[i];
  const float sin = rotation.angles[half + i];
  return {first_at, second_at, numerics::fma(first, cos, -(second * sin)),
          numerics::fma(second, cos, first * sin)};
}

/// A head [D], turned, goes to `to`, where components are `stride` numbers apart. A lane reads two
/// pairs before it writes: a read does not go before a write that may be to the same place.
template <class Head, class Stored>
FORGE_DEVICE void store_turned(const Rotation& rotation, const Head& head, int head_size,
                               gptr<Stored> to, int stride) {
  const auto store = [&](const Pair& turned) {
    to[turned.first_at * stride] = numerics::stored<Stored>(turned.first);
    to[turned.second_at * stride] = numerics::stored<Stored>(turned.second);
  };
  const int pairs = rotation.size / 2;
  for (int i = lane(); i < pairs; i += 2 * kWarpSize) {
    const bool has_next = i + kWarpSize < pairs;
    const Pair first = rotated(rotation, head, i);
    Pair next{};
    if (has_next) next = rotated(rotation, head, i + kWarpSize);
    store(first);
    if (has_next) store(next);
  }
  for (int d = rotation.size + lane(); d < head_size; d += kWarpSize) {
    const float component = head[d];
    to[d * stride] = numerics::stored<Stored>(component);
  }
}

/// A lane reads four components before it writes them.
template <class Stored>
FORGE_DEVICE void store_value(const gpu::KvLayer& kv, gptr<const float> head, const Slot& slot) {
  constexpr int kInFlight = 4;
  const gptr<Stored> value = numbers_of<Stored>(kv) + slot.value;
  for (int d = lane(); d < kv.head_size; d += kInFlight * kWarpSize) {
    float components[kInFlight] = {};
    for (int n = 0; n < kInFlight; ++n) {
      if (d + n * kWarpSize < kv.head_size) components[n] = head[d + n * kWarpSize];
    }
    for (int n = 0; n < kInFlight; ++n) {
      if (d + n * kWarpSize >= kv.head_size) continue;
      value[d + n * kWarpSize] = numerics::stored<Stored>(components[n]);
    }
  }
}

FORGE_KERNEL(gpu::RotateAndStoreArgs::kThreads) rotate_and_store(gpu::RotateAndStoreArgs a) {
  const auto row = static_cast<std::uint32_t>(block().x);
  const gpu::PassCounts counts = global(a.counts)[0];
  if (row >= counts.rows) return;
  const gpu::RowInput input = global(a.rows)[row];
  const gpu::KvLayer& kv = a.kv;
  const int key_head = block().y - kv.heads();    // negative: a head of queries
  const int value_head = key_head - kv.kv_heads;  // negative: one of keys
  const int heads = kv.heads() + 2 * kv.kv_heads;
  const gptr<float> head = global(a.qkv) + (std::int64_t{row} * heads + block().y) * kv.head_size;
  const Rotation rotation = rotation_of(a, input.position);

  if (key_head < 0) {
    for (int i = lane(); i < a.rotary_size / 2; i += kWarpSize) {
      const Pair turned = rotated(rotation, head, i);
      head[turned.first_at] = turned.first;
      head[turned.second_at] = turned.second;
    }
    return;
  }
  const int kv_head = value_head < 0 ? key_head : value_head;
  const Slot slot = slot_of(kv, input.table, kv_head, static_cast<int>(input.position));
  with_stored(kv.type, [&](auto stored) {
    using Stored = decltype(stored);
    if (value_head < 0) {
      store_turned(rotation, head, kv.head_size, numbers_of<Stored>(kv) + slot.key, key_stride(kv));
    } else {
      store_value<Stored>(kv, head, slot);
    }
  });
}

}  // namespace FORGE_KERNELS
