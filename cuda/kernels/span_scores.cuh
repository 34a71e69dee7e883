// Scores of 16 pairs with keys of a tile, on tensor cores, and the weights that they become
// (numerics/span_attention.h): S = Q K^T, P = half_of(exp2(S - m')).
//
// A lane has numbers of two of a warp's pairs, r = 0 and 1 (simt/matrix.h), and of each a quarter
// of the keys; four neighbouring lanes have them all. A largest score is the same in any order.
#pragma once

#include "half_rows.cuh"
#include "span_block.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// What a warp has of its block's work: 16 pairs, and of their sums a, columns of 8 components.
struct SpanWarp {
  int first_pair;
  int first_column;
  int columns;
  SeenKeys seen[2] = {};  ///< by the lane's pairs

  FORGE_DEVICE int pair_of_lane(int r) const { return first_pair + lane() / 4 + 8 * r; }
};

/// This warp's, where so many neighbours have the same pairs, and each a part of the columns.
template <class Block>
FORGE_DEVICE SpanWarp span_warp(const Block& b, int column_warps) {
  const int columns = b.value_size() / 8;
  const int each = gpu::ceil_div(columns, column_warps);
  const int first = warp() % column_warps * each;
  const int left = columns - first;
  SpanWarp w{warp() / column_warps * gpu::kSpanPairs, first, left < each ? left : each};
  for (int r = 0; r < 2; ++r) w.seen[r] = b.pairs.seen_by(w.pair_of_lane(r), b.in);
  return w;
}

/// Whether the warp has that many columns: code for heads of one size knows that it has.
template <class Block>
FORGE_DEVICE bool has_column(const Block&, const SpanWarp& w, int n) {
  return Block::kHeadSize != kAnyHeads || n < w.columns;
}

inline constexpr std::uint32_t kUnseen = 0xff800000u;  ///< bits of a score: -inf

/// Scores of the lane's pairs with keys in matrices of 8; m' of both, and what their sums are
/// multiplied by.
template <int kKeyTiles>
struct SpanScores {
  float m[2];
  float factor[2];
  MatrixSum<float> of[kKeyTiles];
};

/// q of the warp's pairs times keys, from row `first` of the tile on.
template <class Half, int kKeyTiles, class Block>
FORGE_DEVICE void multiply_keys(const Block& b, const SpanWarp& w, int tile, int first,
                                SpanScores<kKeyTiles>& scores) {
  const int of_q = b.place(w.first_pair + lane() % 16, lane() / 16);
  const int of_keys =
      b.keys_of(tile) + b.place(first + lane() / 16 * 8 + lane() % 8, lane() / 8 % 2);
  for (int n = 0; n < kKeyTiles; ++n) scores.of[n] = {};
  for (int step = 0; step < b.head_size() / 16; ++step) {
    const MatrixA q = load_matrix4(b.q + b.further(of_q, 2 * step));
    for (int n = 0; n < kKeyTiles; n += 2) {
      const MatrixA keys =
          load_matrix4(b.ring + b.further(of_keys, 2 * step) + 8 * n * b.row_numbers());
      scores.of[n] = matrix_step<Half>(q, {{keys.words[0], keys.words[1]}}, scores.of[n]);
      scores.of[n + 1] = matrix_step<Half>(q, {{keys.words[2], keys.words[3]}}, scores.of[n + 1]);
    }
  }
}

/// Makes scores of the products of the lane's pair r with keys from position `first` on: -inf where
/// its row does not see the key. Returns the largest of them.
template <int kKeyTiles, class Block>
FORGE_DEVICE float find_scores_of(const Block& b, const SeenKeys& seen, int first, int r,
                                  SpanScores<kKeyTiles>& scores) {
  const float scale_log2 = b.in.scale * numerics::kLog2E;
  for (int i = 0; i < 2 * kKeyTiles; ++i) {
    float& score = scores.of[i / 2].at[2 * r + i % 2];
    score = numerics::span_score(score, b.in.scale, scale_log2, b.score_cap());
  }
  if (!seen.has_all({first, first + 8 * kKeyTiles})) {
    for (int i = 0; i < 2 * kKeyTiles; ++i) {
      const int position = first + i / 2 * 8 + lane() % 4 * 2 + i % 2;
      if (!seen.has(position)) scores.of[i / 2].at[2 * r + i % 2] = numerics::float_of(kUnseen);
    }
  }
  float most = scores.of[0].at[2 * r];
  for (int i = 1; i < 2 * kKeyTiles; ++i) {
    const float score = scores.of[i / 2].at[2 * r + i % 2];
    most = score > most ? score : most;
  }
  return most;
}

/// The scores of both pairs, and scores.m of `m`, those of the sums before: m' as far as these keys
/// go.
template <int kKeyTiles, class Block>
FORGE_DEVICE void find_scores(const Block& b, const SpanWarp& w, int first, const float (&m)[2],
                              SpanScores<kKeyTiles>& scores) {
  // Written out, since a loop of this size would not be unrolled, and index registers.
  const float largest[2] = {find_scores_of(b, w.seen[0], first, 0, scores),
                            find_scores_of(b, w.seen[1], first, 1, scores)};
  for (int r = 0; r < 2; ++r) {
    float most = largest[r] > m[r] ? largest[r] : m[r];
    for (int distance = 1; distance <= 2; distance *= 2) {
      const float other = shuffle_xor(most, distance);
      most = other > most ? other : most;
    }
    scores.m[r] = most;
  }
}

/// Once scores.m is that of all keys of the tile.
template <int kKeyTiles>
FORGE_DEVICE void find_factors(const float (&m)[2], SpanScores<kKeyTiles>& scores) {
  for (int r = 0; r < 2; ++r) {
    scores.m[r] = scores.m[r] + 0.0f;
    scores.factor[r] = numerics::exp2(m[r] - scores.m[r]);
  }
}

/// The weights of the lane's pair r with its two keys of matrix n. exp2(-inf) is 0. Which NaN a
/// NaN becomes is nothing to a step.
template <class Half, int kKeyTiles>
FORGE_DEVICE std::uint32_t weights_of(const SpanScores<kKeyTiles>& scores, int n, int r) {
  return round_pair<Half>(numerics::exp2(scores.of[n].at[2 * r] - scores.m[r]),
                          numerics::exp2(scores.of[n].at[2 * r + 1] - scores.m[r]));
}

}  // namespace FORGE_KERNELS
