// One segment of 256 keys for a tile of queries: the step that the three attention kernels share.
//
//   scores    a thread a key:        weights[q][j] = (q . k_j) * scale, capped | barrier
//   weights   a warp a query:        weights[q][j] = exp(score - max)          | barrier
//   values    a thread a component:  sums[d] = chain over j of weights[q][j] * v_j[d]
//
// A key, once in a register, serves all queries of the tile; so does a value. Queries of a tile are
// heads of one row (decode), which see the same keys, or one head of consecutive rows (prompt),
// each of which sees one key more than the one before and, in a sliding window, one fewer from the
// other end:
//
//   query 0   . . x x x x x . .      keys of the segment, x: seen. A value that all queries see is
//   query 1   . . . x x x x x .      added without asking; at both ends each query is asked
//   query 2   . . . . x x x x x
//
// Bits: numerics/attention.h, and why they are the same here. A score is one thread's fma chain
// over d, and its cap an operation of that thread. The maximum has no order. Lane i of a warp adds
// weights i, i + 32, ..., warp_sum adds the lanes: the sum's definition. A component is a thread's
// fma chain over j. How many queries share a tile, and which thread has which component, does not
// enter.
#pragma once

#include "forge/gpu/kernels/attention_input.h"
#include "forge/numerics/attention.h"
#include "forge/numerics/canonical.h"
#include "forge/simt/dialect.h"
#include "kv_head.cuh"
#include "online_softmax.cuh"

namespace FORGE_KERNELS {
using namespace simt;

inline constexpr int kKeys = numerics::kKeySegment;

/// Floats of shared memory for the queries and the weights of a tile.
template <int kQueries>
inline constexpr int kQueryFloats = (numerics::kHeadSizeMax * kQueries);
template <int kQueries>
inline constexpr int kWeightFloats = (kKeys * kQueries);

/// Queries that go through the keys of one KV head together. Each attends over kMore positions more
/// than the one before: 0, heads of a row, or 1, consecutive rows.
template <int kMore>
struct QueryTile {
  gptr<const float> q;    ///< query i: [D] at q + i * stride
  std::int64_t q_stride;  ///< floats
  int count;              ///< number of queries, at least 1
  int length;             ///< positions that query 0 attends over
  int reach;              ///< how many of these positions a query sees: the last ones
  std::uint32_t table;    ///< row of block tables
  int kv_head;

  FORGE_DEVICE int length_of(int query) const { return length + query * kMore; }
  /// First position that a query sees; negative if it sees all.
  FORGE_DEVICE int first_of(int query) const { return length_of(query) - reach; }
};

/// The keys at positions first .. first + kKeys - 1, of which each query sees those it attends
/// over.
template <int kMore>
struct KeySegment {
  const gpu::AttentionInput& in;
  const QueryTile<kMore>& tile;
  int first;

  /// Keys [begin_of, end_of) of the segment are those that a query sees.
  FORGE_DEVICE int begin_of(int query) const { return clamped(tile.first_of(query) - first); }
  FORGE_DEVICE int end_of(int query) const { return clamped(tile.length_of(query) - first); }
  FORGE_DEVICE bool is_seen_by(int query) const { return begin_of(query) < end_of(query); }
  /// One comparison: a key after the query's own is a large number of positions back.
  FORGE_DEVICE bool is_seen_by(int query, int key) const {
    const int back = tile.length_of(query) - 1 - first - key;
    return static_cast<unsigned>(back) < static_cast<unsigned>(tile.reach);
  }
  /// Whether no segment before has a key that this query sees.
  FORGE_DEVICE bool is_first_of(int query) const {
    return first == 0 || tile.first_of(query) >= first;
  }

 private:
  static FORGE_DEVICE int clamped(int key) { return key < 0 ? 0 : key < kKeys ? key : kKeys; }
};

/// The shared memory of an attention kernel for tiles of up to kQueries queries.
struct TileMemory {
  sptr<float> queries;          ///< [D][kQueries], zero beyond the tile's count
  sptr<float> weights;          ///< [kQueries][kKeys]: scores, then softmax weights
  sptr<std::int64_t> values;    ///< [kKeys]: where the value of each key lies (Slot::value)
  sptr<OnlineSoftmax> softmax;  ///< [kQueries]
};

/// The sums that a thread accumulates: component d of queries first, first + step, ...
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

template <int kQueries, int kMore>
FORGE_DEVICE void stage_queries(const QueryTile<kMore>& tile, int head_size,
                                const TileMemory& memory) {
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

/// dots[q] = q . the key in `slot`. Of 16 bits eight components are one load, if rows are aligned.
template <class Stored, int kQueries>
FORGE_DEVICE void multiply_key(const gpu::KvLayer& kv, const Slot& slot, sptr<const float> queries,
                               float (&dots)[kQueries]) {
  constexpr int kInFlight = 8;
  constexpr bool kIsNarrow = sizeof(Stored) < sizeof(float);
  const int D = kv.head_size;
  const int S = key_stride(kv);
  const int whole = D % kInFlight == 0 || !kIsNarrow ? D - D % kInFlight : 0;
  const gptr<const Stored> key = numbers_of<const Stored>(kv) + slot.key;
  FORGE_ROLLED for (int d = 0; d < whole; d += kInFlight) {
    float k[kInFlight];
    if constexpr (kIsNarrow) {
      load_eight<Stored>(numbers_of<const float>(kv) + (slot.key + d) / 2, k);
    } else {
      for (int n = 0; n < kInFlight; ++n) k[n] = key[(d + n) * S];
    }
    for (int n = 0; n < kInFlight; ++n) {
      add_products<kQueries>(queries + (d + n) * kQueries, k[n], dots);
    }
  }
  FORGE_ROLLED for (int d = whole; d < D; ++d) {
    const Stored component = key[d * S];
    add_products<kQueries>(queries + d * kQueries, numerics::widened(component), dots);
  }
}

/// Computes for key thread() of the segment its score with each query, and where its value lies.
template <class Stored, int kQueries, int kMore>
FORGE_DEVICE void compute_scores(const KeySegment<kMore>& segment, const TileMemory& memory) {
  const gpu::AttentionInput& in = segment.in;
  const int j = thread();
  if (j < segment.begin_of(0) || j >= segment.end_of(segment.tile.count - 1)) return;
  const Slot slot = slot_of(in.kv, segment.tile.table, segment.tile.kv_head, segment.first + j);
  memory.values[j] = slot.value;

  float dots[kQueries] = {};
  multiply_key<Stored, kQueries>(in.kv, slot, memory.queries, dots);
  for (int n = 0; n < kQueries; ++n) memory.weights[n * kKeys + j] = dots[n] * in.scale;
  if (in.score_cap == 0.0f) return;
  FORGE_ROLLED for (int n = 0; n < segment.tile.count; ++n) {  // what this thread has just written
    const float score = memory.weights[n * kKeys + j];
    memory.weights[n * kKeys + j] = numerics::soft_cap(score, in.score_cap);
  }
}

/// The largest score of a query in a segment and the sum of its weights.
struct SegmentSoftmax {
  float m;
  float l;
};

/// Scores [first, last) of `scores` [kKeys] become weights, by a warp; the same result in every
/// lane.
FORGE_DEVICE SegmentSoftmax weigh_scores(sptr<float> scores, int first, int last) {
  constexpr int kEach = kKeys / kWarpSize;
  const sptr<float> weights = scores + lane();
  const int begin = first - lane();  // among keys lane(), lane() + 32, ...
  const int end = last - lane();
  float x[kEach];
  float max = numerics::float_of(0xff800000u);  // -inf
  for (int n = 0; n < kEach; ++n) {
    const int key = n * kWarpSize;
    x[n] = begin <= key && key < end ? weights[key] : numerics::float_of(0xff800000u);
    max = x[n] > max ? x[n] : max;
  }
  max = warp_max(max);
  float sum = 0.0f;
  for (int n = 0; n < kEach; ++n) {
    const int key = n * kWarpSize;
    if (key >= end) break;
    if (key < begin) continue;
    const float weight = numerics::exp(x[n] - max);
    weights[key] = weight;
    sum = sum + weight;
  }
  return {max, warp_sum(sum)};
}

/// Lane 0 notes what a segment means for a query's softmax.
FORGE_DEVICE void take_in(const SegmentSoftmax& segment, bool is_first,
                          sptr<OnlineSoftmax> softmax) {
  if (lane() != 0) return;
  if (is_first) {
    softmax[0] = OnlineSoftmax{segment.m, segment.l, 0.0f, 1.0f};
  } else {
    const OnlineSoftmax before = softmax[0];
    softmax[0] = before.merged(segment.m, segment.l);
  }
}

/// Scores become weights, and the softmax of each query takes in the segment. Warp w does queries
/// w, w + W, ...
template <int kMore>
FORGE_DEVICE void compute_weights(const KeySegment<kMore>& segment, const TileMemory& memory) {
  for (int query = warp(); query < segment.tile.count; query += threads() / kWarpSize) {
    if (!segment.is_seen_by(query)) continue;
    const SegmentSoftmax own = weigh_scores(memory.weights + query * kKeys, segment.begin_of(query),
                                            segment.end_of(query));
    take_in(own, segment.is_first_of(query), memory.softmax + query);
  }
}

/// Adds key j to the sums of those queries that see it.
template <class Stored, int kEach, int kMore>
FORGE_DEVICE void accumulate_value(const KeySegment<kMore>& segment, const Components& own,
                                   const TileMemory& memory, int j, float (&sums)[kEach]) {
  const std::int64_t value = memory.values[j];
  const Stored component = numbers_of<const Stored>(segment.in.kv)[value + own.d];
  const float v = numerics::widened(component);
  for (int n = 0; n < kEach; ++n) {
    const int query = own.first + n * own.step;
    if (query >= segment.tile.count || !segment.is_seen_by(query, j)) continue;
    const float w = memory.weights[query * kKeys + j];
    sums[n] = numerics::fma(w, v, sums[n]);
  }
}

/// sums[n] = a_c[own.d] of query own.first + n * own.step, where the tile has one.
template <class Stored, int kEach, int kMore>
FORGE_DEVICE void accumulate_values(const KeySegment<kMore>& segment, const Components& own,
                                    const TileMemory& memory, float (&sums)[kEach]) {
  constexpr int kInFlight = kEach >= 4 ? 4 : 8;  // values: as many as registers are left for
  const gptr<const Stored> pool = numbers_of<const Stored>(segment.in.kv) + own.d;
  int row[kEach];  // of weights; one that the tile has, though its sum may not be wanted
  for (int n = 0; n < kEach; ++n) {
    const int query = own.first + n * own.step;
    row[n] = (query < segment.tile.count ? query : 0) * kKeys;
    sums[n] = 0.0f;
  }

  const int last = segment.tile.count - 1;
  const int begin = segment.begin_of(0);
  const int end = segment.end_of(last);
  FORGE_ROLLED for (int group = begin - begin % kInFlight; group < end; group += kInFlight) {
    const bool seen_by_all =
        segment.begin_of(last) <= group && group + kInFlight <= segment.end_of(0);
    if (!seen_by_all) {
      FORGE_ROLLED for (int j = group; j < group + kInFlight; ++j) {
        if (begin <= j && j < end) accumulate_value<Stored, kEach>(segment, own, memory, j, sums);
      }
      continue;
    }
    float v[kInFlight];
    for (int i = 0; i < kInFlight; ++i) {
      const std::int64_t value = memory.values[group + i];
      const Stored component = pool[value];
      v[i] = numerics::widened(component);
    }
    for (int n = 0; n < kEach; ++n) {
      for (int i = 0; i < kInFlight; i += 4) {
        const Float4 w = load4(memory.weights + row[n] + group + i);
        sums[n] = numerics::fma(w.x, v[i], sums[n]);
        sums[n] = numerics::fma(w.y, v[i + 1], sums[n]);
        sums[n] = numerics::fma(w.z, v[i + 2], sums[n]);
        sums[n] = numerics::fma(w.w, v[i + 3], sums[n]);
      }
    }
  }
}

}  // namespace FORGE_KERNELS
