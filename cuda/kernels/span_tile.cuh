// A tile of 64 keys and values in shared memory, and what attention does with it on tensor cores
// (numerics/span_attention.h), for the 16 pairs of a block of four warps.
//
//   scores    S[16][64] = Q[16][D] K[64][D]^T       warp w has keys 16 w .. 16 w + 15
//   weights   P[16][64] = half_of(exp2(S - m'))     through shared memory: all warps need all
//   sums      A[16][D] += P[16][64] V[64][D]        warp w has columns 8 c .. 8 c + 7, c % 4 = w
//             l[16] += P[16][64] 1[64]              every warp
//
//   memory    8 lanes copy 128 consecutive bytes of a row, 16 each. In shared memory a row takes a
//             multiple of 128 bytes, and its 16 bytes number c are at c ^ (row % 8): so the 8 rows
//             of which a load takes 16 bytes each are in different banks
//   bits      of an output the steps of 16 products come in the order of the definition, in one
//             accumulator; which lane has it, and which factor comes first, does not matter
//             (numerics/matrix_step.h). A largest score is the same in any order
#pragma once

#include "half_rows.cuh"
#include "kv_head.cuh"
#include "span_pairs.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// Numbers of a row of weights, in words of two, and warps of a block.
inline constexpr int kWeightWords = numerics::kSpanTile / 2;
inline constexpr int kSpanWarps = gpu::AttendSpansArgs::kThreads / kWarpSize;
inline constexpr int kSpanPairs = gpu::AttendSpansArgs::kPairs;

struct SpanMemory {
  sptr<std::uint16_t> numbers;  ///< q [16], then keys [64] and values [64] of each stage
  sptr<std::int64_t> slots;     ///< [256]: where the keys of a span are, in numbers from the pool
  sptr<std::uint32_t> weights;  ///< [16][64] numbers
  sptr<float> maxima;           ///< [warps][16]
};

/// What a block works on.
struct SpanBlock {
  const gpu::SpanInput& in;
  SpanPairs pairs;
  SeenKeys keys;
  SpanMemory memory;

  FORGE_DEVICE int row_numbers() const {
    return gpu::AttendSpansArgs::row_numbers(in.kv.head_size);
  }
  /// Where 16 bytes of a row of numbers are.
  FORGE_DEVICE int place(int row, int chunk) const {
    return row * row_numbers() + (chunk ^ row % 8) * 8;
  }
  FORGE_DEVICE sptr<std::uint16_t> keys_of(int tile) const {
    const int stage = tile % gpu::AttendSpansArgs::kStages;
    return memory.numbers + (kSpanPairs + stage * 2 * numerics::kSpanTile) * row_numbers();
  }
  FORGE_DEVICE sptr<std::uint16_t> values_of(int tile) const {
    return keys_of(tile) + numerics::kSpanTile * row_numbers();
  }
};

/// Where 16 bytes of the weights of a pair are.
FORGE_DEVICE int weight_place(int pair, int chunk) {
  return pair * kWeightWords + (chunk ^ pair % 8) * 4;
}

// ---- Copies -------------------------------------------------------------------------------------

/// Starts to copy q of the pairs: 8 threads a pair.
FORGE_DEVICE void copy_queries(const SpanBlock& b) {
  static_assert(gpu::AttendSpansArgs::kThreads == kSpanPairs * 8);
  const int D = b.in.kv.head_size;
  const int pair = thread() / 8;
  const bool there = pair < b.pairs.count;
  const gptr<const std::uint16_t> q = global(static_cast<const std::uint16_t*>(b.in.q)) +
                                      (there ? b.pairs.index_of(pair, b.in.kv) * D : 0);
  for (int chunk = thread() % 8; chunk < D / 8; chunk += 8) {
    copy_async(b.memory.numbers + b.place(pair, chunk), q + chunk * 8, there);
  }
}

/// Looks up where the keys of a span are, those that are seen.
FORGE_DEVICE void find_slots(const SpanBlock& b, int span) {
  for (int i = thread(); i < numerics::kSpan; i += threads()) {
    const int position = span * numerics::kSpan + i;
    if (!b.keys.has(position)) continue;
    b.memory.slots[i] = slot_of(b.in.kv, b.pairs.table, block().y, position).key;
  }
}

/// Starts to copy keys and values of a tile, zeros for those that no row sees.
FORGE_DEVICE void copy_keys(const SpanBlock& b, int tile) {
  const gpu::KvLayer& kv = b.in.kv;
  const gptr<const std::uint16_t> pool = global(static_cast<const std::uint16_t*>(kv.pool));
  const std::int64_t plane = std::int64_t{kv.head_size} * kv.block_size;  // keys; values likewise
  for (int row = thread() / 8; row < numerics::kSpanTile; row += threads() / 8) {
    const int position = tile * numerics::kSpanTile + row;
    const bool there = b.keys.has(position);
    std::int64_t slot = 0;
    if (there) slot = b.memory.slots[position % numerics::kSpan];
    for (int chunk = thread() % 8; chunk < kv.head_size / 8; chunk += 8) {
      const int place = b.place(row, chunk);
      copy_async(b.keys_of(tile) + place, pool + slot + chunk * 8, there);
      copy_async(b.values_of(tile) + place, pool + slot + plane + chunk * 8, there);
    }
  }
}

/// Begins a tile, if there is one. All threads take part; nobody may read the tile two before.
FORGE_DEVICE void start_tile(const SpanBlock& b, int tile) {
  constexpr int kTilesOfSpan = numerics::kSpan / numerics::kSpanTile;
  if (tile * numerics::kSpanTile >= b.keys.end) return;
  if (tile % kTilesOfSpan == 0) {
    find_slots(b, tile / kTilesOfSpan);
    sync_block();
  }
  copy_keys(b, tile);
  commit_copies();
}

// ---- Scores and weights -------------------------------------------------------------------------

/// A lane has numbers of two pairs, r = 0 and 1 (simt/matrix.h).
FORGE_DEVICE int pair_of_lane(int r) { return lane() / 4 + 8 * r; }

/// m' of the lane's pairs, what their sums are multiplied by, and scores of both.
struct SpanScores {
  float m[2];
  float factor[2];
  MatrixSum<float> of[2];  ///< with the keys 8 n .. 8 n + 7 of the warp's, n = 0 and 1
};

/// q of the pairs times the warp's keys.
template <class Half>
FORGE_DEVICE void multiply_keys(const SpanBlock& b, int tile, SpanScores& scores) {
  const int row = warp() * 16 + lane() / 16 * 8 + lane() % 8;
  scores.of[0] = scores.of[1] = {};
  for (int step = 0; step < b.in.kv.head_size / 16; ++step) {
    const MatrixA q = load_matrix4(b.memory.numbers + b.place(lane() % 16, 2 * step + lane() / 16));
    const MatrixA keys = load_matrix4(b.keys_of(tile) + b.place(row, 2 * step + lane() / 8 % 2));
    scores.of[0] = matrix_step<Half>(q, {{keys.words[0], keys.words[1]}}, scores.of[0]);
    scores.of[1] = matrix_step<Half>(q, {{keys.words[2], keys.words[3]}}, scores.of[1]);
  }
}

/// Makes scores of the products, -inf where the pair's row does not see the key, and m' of m.
FORGE_DEVICE void find_maxima(const SpanBlock& b, int tile, const SeenKeys (&seen)[2],
                              const float (&m)[2], SpanScores& scores) {
  const float unseen = numerics::float_of(0xff800000u);  // -inf
  const int first = tile * numerics::kSpanTile + warp() * 16 + lane() % 4 * 2;
  const float scale_log2 = b.in.scale * numerics::kLog2E;
  for (int r = 0; r < 2; ++r) {
    float most = m[r];
    for (int i = 0; i < 4; ++i) {
      float& score = scores.of[i / 2].at[2 * r + i % 2];
      score = numerics::span_score(score, b.in.scale, scale_log2, b.in.score_cap);
      if (!seen[r].has(first + i / 2 * 8 + i % 2)) score = unseen;
      most = score > most ? score : most;
    }
    for (int distance = 1; distance <= 2; distance *= 2) {
      const float other = shuffle_xor(most, distance);
      most = other > most ? other : most;
    }
    if (lane() % 4 == 0) b.memory.maxima[warp() * kSpanPairs + pair_of_lane(r)] = most;
    scores.m[r] = most;
  }
  sync_block();
  for (int r = 0; r < 2; ++r) {
    for (int w = 0; w < kSpanWarps; ++w) {
      const float other = b.memory.maxima[w * kSpanPairs + pair_of_lane(r)];
      scores.m[r] = other > scores.m[r] ? other : scores.m[r];
    }
    scores.m[r] = scores.m[r] + 0.0f;
    scores.factor[r] = numerics::exp2(m[r] - scores.m[r]);
  }
}

/// The weights of all keys go to shared memory. exp2(-inf) is 0.
template <class Half>
FORGE_DEVICE void share_weights(const SpanBlock& b, const SpanScores& scores) {
  for (int r = 0; r < 2; ++r) {
    for (int n = 0; n < 2; ++n) {
      const float first = scores.of[n].at[2 * r] - scores.m[r];
      const float second = scores.of[n].at[2 * r + 1] - scores.m[r];
      const int at = weight_place(pair_of_lane(r), 2 * warp() + n) + lane() % 4;
      b.memory.weights[at] = pack_pair<Half>(numerics::exp2(first), numerics::exp2(second));
    }
  }
  sync_block();
}

// ---- Sums ---------------------------------------------------------------------------------------

/// What a lane has of m, l and a: of its two pairs, and of a in columns 8 c + lane % 4 * 2 and the
/// next, c = warp + 4 n.
template <int kTiles>
struct SpanSums {
  float m[2] = {numerics::kLowestScore, numerics::kLowestScore};
  MatrixSum<float> l = {};  ///< the same in both columns
  MatrixSum<float> a[kTiles] = {};

  FORGE_DEVICE static int column_of(int n) { return warp() + n * kSpanWarps; }
  FORGE_DEVICE void multiply(const float (&factor)[2]) {
    for (int i = 0; i < 4; ++i) {
      l.at[i] = l.at[i] * factor[i / 2];
      for (int n = 0; n < kTiles; ++n) a[n].at[i] = a[n].at[i] * factor[i / 2];
    }
  }
};

/// Adds weights times values. Of 32 keys at a time a load brings what two steps need of a column
/// tile.
template <class Half, int kTiles>
FORGE_DEVICE void multiply_values(const SpanBlock& b, int tile, SpanSums<kTiles>& sums) {
  const std::uint32_t one = pack_pair<Half>(1, 1);
  for (int keys = 0; keys < numerics::kSpanTile; keys += 32) {
    const int chunk = keys / 8 + lane() / 16;
    const MatrixA first = load_matrix4(b.memory.weights + weight_place(lane() % 16, chunk));
    const MatrixA second = load_matrix4(b.memory.weights + weight_place(lane() % 16, chunk + 2));
    sums.l = matrix_step<Half>(first, {{one, one}}, sums.l);
    sums.l = matrix_step<Half>(second, {{one, one}}, sums.l);
    for (int n = 0; n < kTiles; ++n) {
      const int column = sums.column_of(n);
      if (column >= b.in.kv.head_size / 8) continue;
      const MatrixA values =
          load_matrix4_transposed(b.values_of(tile) + b.place(keys + lane(), column));
      sums.a[n] = matrix_step<Half>(first, {{values.words[0], values.words[1]}}, sums.a[n]);
      sums.a[n] = matrix_step<Half>(second, {{values.words[2], values.words[3]}}, sums.a[n]);
    }
  }
}

/// Adds a tile to the sums. `seen`: by the lane's two pairs.
template <class Half, int kTiles>
FORGE_DEVICE void add_span_tile(const SpanBlock& b, int tile, const SeenKeys (&seen)[2],
                                SpanSums<kTiles>& sums) {
  SpanScores scores;
  multiply_keys<Half>(b, tile, scores);
  find_maxima(b, tile, seen, sums.m, scores);
  share_weights<Half>(b, scores);
  for (int r = 0; r < 2; ++r) sums.m[r] = scores.m[r];
  sums.multiply(scores.factor);
  multiply_values<Half>(b, tile, sums);
}

}  // namespace FORGE_KERNELS
