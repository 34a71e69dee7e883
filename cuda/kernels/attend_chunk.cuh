// One chunk of 256 keys for a tile of queries: the step that the three attention kernels share.
//
//   scores    a thread a key:        weights[q][j] = (q . k_j) * scale       | barrier
//   weights   a warp a query:        weights[q][j] = exp(score - max)        | barrier
//   values    a thread a component:  sums[d] = chain over j of weights[q][j] * v_j[d]
//
// A key, once in a register, serves all queries of the tile; so does a value. Queries of a tile are
// heads of one row (decode), which see the same keys, or one head of consecutive rows (prompt),
// each of which sees one key more than the one before.
//
// Bits: numerics/attention.h, and why they are the same here. A score is one thread's fma chain
// over d. The maximum has no order. Lane i of a warp adds weights i, i + 32, ..., warp_sum adds the
// lanes: the sum's definition. A component is one thread's fma chain over j. How many queries share
// a tile, and which thread has which component, does not enter.
#pragma once

#include "forge/gpu/kernels/attention_input.h"
#include "forge/numerics/attention.h"
#include "forge/numerics/canonical.h"
#include "forge/simt/dialect.h"
#include "kv_head.cuh"
#include "online_softmax.cuh"

namespace FORGE_KERNELS {
using namespace simt;

inline constexpr int kKeys = numerics::kKeyChunk;

/// Floats of shared memory for the queries and the weights of a tile.
template <int kQueries>
inline constexpr int kQueryFloats = (numerics::kHeadSizeMax * kQueries);
template <int kQueries>
inline constexpr int kWeightFloats = (kKeys * kQueries);

/// Queries that go through the keys of one KV head together.
struct QueryTile {
  gptr<const float> q;    ///< query i: [D] at q + i * stride
  std::int64_t q_stride;  ///< floats
  int count;              ///< of queries, at least 1
  int length;             ///< positions that query 0 attends over
  int more;               ///< that each query attends over beyond the one before: 0 or 1
  std::uint32_t table;    ///< row of block tables
  int kv_head;

  FORGE_DEVICE int length_of(int query) const { return length + query * more; }
};

/// The keys at positions first .. first + kKeys - 1, of which each query sees those it attends
/// over.
struct KeyChunk {
  const QueryTile& tile;
  int first;

  FORGE_DEVICE int seen_by(int query) const {
    const int seen = tile.length_of(query) - first;
    return seen < 0 ? 0 : seen < kKeys ? seen : kKeys;
  }
  FORGE_DEVICE int seen_by_all() const { return seen_by(0); }
  FORGE_DEVICE int seen_by_any() const { return seen_by(tile.count - 1); }
};

/// The shared memory of an attention kernel for tiles of up to kQueries queries.
struct TileMemory {
  sptr<float> queries;          ///< [D][kQueries], zero beyond the tile's count
  sptr<float> weights;          ///< [kQueries][kKeys]: scores, then softmax weights
  sptr<std::int64_t> values;    ///< [kKeys]: where the value of each key lies (Slot::value)
  sptr<OnlineSoftmax> softmax;  ///< [kQueries]
};

/// Which sums a thread accumulates: component d of queries first, first + step, ...
struct Components {
  int d;
  int first;
  int step;
};
FORGE_DEVICE Components components_of_thread(int head_size) {
  const int step = threads() / head_size;
  const int first = thread() / head_size;
  return {thread() - first * head_size, first < step ? first : kKeys, step};
}

template <int kQueries>
FORGE_DEVICE void stage_queries(const QueryTile& tile, int head_size, const TileMemory& memory) {
  for (int i = thread(); i < kQueries * head_size; i += threads()) {
    const int query = i / head_size;
    const int d = i - query * head_size;
    memory.queries[d * kQueries + query] =
        query < tile.count ? tile.q[query * tile.q_stride + d] : 0.0f;
  }
}

/// dots[q] = fma(queries[q], key, dots[q]), queries: component d of all queries of the tile.
template <int kQueries>
FORGE_DEVICE void add_products(sptr<const float> queries, float key, float (&dots)[kQueries]) {
  if constexpr (kQueries % 4 == 0) {
    for (int n = 0; n < kQueries; n += 4) {
      const Float4 q = load4(queries + n);
      dots[n] = numerics::fma(q.x, key, dots[n]);
      dots[n + 1] = numerics::fma(q.y, key, dots[n + 1]);
      dots[n + 2] = numerics::fma(q.z, key, dots[n + 2]);
      dots[n + 3] = numerics::fma(q.w, key, dots[n + 3]);
    }
  } else {
    for (int n = 0; n < kQueries; ++n) {
      const float q = queries[n];
      dots[n] = numerics::fma(q, key, dots[n]);
    }
  }
}

/// Key thread() of the chunk: its score with each query, and where its value lies.
template <int kQueries>
FORGE_DEVICE void compute_scores(const gpu::AttentionInput& in, const KeyChunk& chunk,
                                 const TileMemory& memory) {
  constexpr int kInFlight = 8;
  const int j = thread();
  if (j >= chunk.seen_by_any()) return;
  const Slot slot = slot_of(in.kv, chunk.tile.table, chunk.tile.kv_head, chunk.first + j);
  memory.values[j] = slot.value;

  const int D = in.kv.head_size;
  const int S = in.kv.block_size;
  const gptr<const float> key = global(in.kv.pool) + slot.key;
  float dots[kQueries] = {};
  int d = 0;
  FORGE_ROLLED for (; d + kInFlight <= D; d += kInFlight) {
    float k[kInFlight];
    for (int n = 0; n < kInFlight; ++n) k[n] = key[(d + n) * S];
    for (int n = 0; n < kInFlight; ++n) {
      add_products<kQueries>(memory.queries + (d + n) * kQueries, k[n], dots);
    }
  }
  FORGE_ROLLED for (; d < D; ++d) {
    add_products<kQueries>(memory.queries + d * kQueries, key[d * S], dots);
  }
  for (int n = 0; n < kQueries; ++n) memory.weights[n * kKeys + j] = dots[n] * in.scale;
}

/// Scores become weights, and the softmax of each query takes in the chunk. Warp w does queries w,
/// w + W, ...
FORGE_DEVICE void compute_weights(const KeyChunk& chunk, bool first_of_range,
                                  const TileMemory& memory) {
  constexpr int kEach = kKeys / kWarpSize;
  for (int query = warp(); query < chunk.tile.count; query += threads() / kWarpSize) {
    const int size = chunk.seen_by(query);
    if (size == 0) continue;
    const sptr<float> weights = memory.weights + query * kKeys + lane();
    float x[kEach];
    float max = numerics::float_of(0xff800000u);  // -inf
    for (int n = 0; n < kEach; ++n) {
      x[n] = lane() + n * kWarpSize < size ? weights[n * kWarpSize] : max;
      max = x[n] > max ? x[n] : max;
    }
    max = warp_max(max);
    float sum = 0.0f;
    for (int n = 0; n < kEach; ++n) {
      if (lane() + n * kWarpSize >= size) break;
      const float weight = numerics::exp(x[n] - max);
      weights[n * kWarpSize] = weight;
      sum = sum + weight;
    }
    sum = warp_sum(sum);
    if (lane() != 0) continue;
    if (first_of_range) {
      memory.softmax[query] = OnlineSoftmax{max, sum, 0.0f, 1.0f};
    } else {
      const OnlineSoftmax before = memory.softmax[query];
      memory.softmax[query] = before.merged(max, sum);
    }
  }
}

/// sums[n] = a_c[own.d] of query own.first + n * own.step, where the tile has one.
template <int kEach>
FORGE_DEVICE void accumulate_values(const gpu::AttentionInput& in, const KeyChunk& chunk,
                                    const Components& own, const TileMemory& memory,
                                    float (&sums)[kEach]) {
  constexpr int kInFlight = 8;
  const gptr<const float> pool = global(in.kv.pool) + own.d;
  int row[kEach];  // of weights; one that the tile has, though its sum may not be wanted
  for (int n = 0; n < kEach; ++n) {
    const int query = own.first + n * own.step;
    row[n] = (query < chunk.tile.count ? query : 0) * kKeys;
    sums[n] = 0.0f;
  }

  int j = 0;
  FORGE_ROLLED for (; j + kInFlight <= chunk.seen_by_all(); j += kInFlight) {
    float v[kInFlight];
    for (int i = 0; i < kInFlight; ++i) {
      const std::int64_t value = memory.values[j + i];
      v[i] = pool[value];
    }
    for (int n = 0; n < kEach; ++n) {
      for (int i = 0; i < kInFlight; i += 4) {
        const Float4 w = load4(memory.weights + row[n] + j + i);
        sums[n] = numerics::fma(w.x, v[i], sums[n]);
        sums[n] = numerics::fma(w.y, v[i + 1], sums[n]);
        sums[n] = numerics::fma(w.z, v[i + 2], sums[n]);
        sums[n] = numerics::fma(w.w, v[i + 3], sums[n]);
      }
    }
  }
  FORGE_ROLLED for (; j < chunk.seen_by_any(); ++j) {
    const std::int64_t value = memory.values[j];
    const float v = pool[value];
    for (int n = 0; n < kEach; ++n) {
      if (j >= chunk.seen_by(own.first + n * own.step)) continue;
      const float w = memory.weights[row[n] + j];
      sums[n] = numerics::fma(w, v, sums[n]);
    }
  }
}

}  // namespace FORGE_KERNELS
