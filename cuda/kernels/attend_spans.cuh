// attend_spans: attention of fast numerics, on tensor cores. The query heads of a row that share a
// KV head are few rows for a matrix instruction, which has 16; so rows of a sequence, if there are
// several, go through its keys together.
//
//   grid      x: tiles of rows, and within a tile 16 pairs of a row and a query head each; y: KV
//             heads; z: spans, where each is a block of its own ("split-K", flash decoding) and
//             merge_spans puts them together; 128 threads
//
//   scores    S[16][64] = Q[16][D] K[64][D]^T       warp w has keys 16 w .. 16 w + 15
//   weights   P[16][64] = half_of(exp2(S - m'))     through shared memory: all warps need all
//   sums      A[16][D] += P[16][64] V[64][D]        each warp has a quarter of the columns
//             l[16] += P[16][64] 1[64]              every warp
//
//   memory    tiles of 64 keys and their values come by asynchronous copies, two of them while the
//             tile before is worked on (span_block.cuh), once for all pairs of a block
//   bits      those of numerics/span_attention.h: tiles and spans begin at its positions, and what
//             others of the block see beyond a row's own keys changes nothing
#pragma once

#include "forge/gpu/kernels/attend_spans.h"
#include "span_sums.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// Warps that have the same 16 pairs, and words of a row of weights, of two numbers each.
inline constexpr int kSpanWarps = gpu::AttendSpansArgs::kThreads / kWarpSize;
inline constexpr int kWeightWords = numerics::kSpanTile / 2;

/// Which of the warps that have the same pairs this one is.
FORGE_DEVICE int warp_of_pairs() { return warp() % kSpanWarps; }

/// Where the warps of a block meet.
struct SharedScores {
  sptr<std::uint32_t> weights;  ///< [pairs][64] numbers
  sptr<float> maxima;           ///< [warps][16]

  /// Where 16 bytes of the weights of a pair are.
  FORGE_DEVICE static int place(int pair, int chunk) {
    return pair * kWeightWords + (chunk ^ pair % 8) * 4;
  }
};

/// m' of all keys of the tile, from those of the warps.
FORGE_DEVICE void share_maxima(const SharedScores& shared, SpanScores<2>& scores) {
  const sptr<float> of_lane = shared.maxima + lane() / 4;
  for (int r = 0; r < 2; ++r) {
    if (lane() % 4 == 0) of_lane[warp() * gpu::kSpanPairs + 8 * r] = scores.m[r];
  }
  sync_block();
  const int first = warp() - warp_of_pairs();
  for (int r = 0; r < 2; ++r) {
    for (int i = 0; i < kSpanWarps; ++i) {
      const float other = of_lane[(first + i) * gpu::kSpanPairs + 8 * r];
      scores.m[r] = other > scores.m[r] ? other : scores.m[r];
    }
  }
}

/// The weights of all keys go to shared memory.
template <class Half>
FORGE_DEVICE void share_weights(const SharedScores& shared, const SpanWarp& w,
                                const SpanScores<2>& scores) {
  for (int r = 0; r < 2; ++r) {
    for (int n = 0; n < 2; ++n) {
      const int at = SharedScores::place(w.pair_of_lane(r), 2 * warp_of_pairs() + n) + lane() % 4;
      shared.weights[at] = weights_of<Half>(scores, n, r);
    }
  }
  sync_block();
}

/// Adds a tile to the sums.
template <class Half, int kColumns, class Block>
FORGE_DEVICE void add_span_tile(const Block& b, const SharedScores& shared, const SpanWarp& w,
                                int tile, SpanSums<kColumns>& sums) {
  const int first = warp_of_pairs() * 16;  // of the tile's keys
  SpanScores<2> scores;
  multiply_keys<Half>(b, w, tile, first, scores);
  find_scores(b, w, keys_of_tile(tile).first + first, sums.m, scores);
  share_maxima(shared, scores);
  find_factors(sums.m, scores);
  share_weights<Half>(shared, w, scores);
  for (int r = 0; r < 2; ++r) sums.m[r] = scores.m[r];
  sums.multiply(scores.factor);
  multiply_values<Half>(b, w, tile, sums, [&](int i) {
    return load_matrix4(shared.weights +
                        SharedScores::place(w.first_pair + lane() % 16, 2 * i + lane() / 16));
  });
}

/// a, m and l of the block's span go to `partial`, of pairs that see some of it.
template <int kColumns, class Args, class Block>
FORGE_DEVICE void write_partial(const Args& a, const Block& b, const SpanWarp& w,
                                const SpanSums<kColumns>& sums) {
  const int D = b.value_size();
  for (int r = 0; r < 2; ++r) {
    if (!w.seen[r].meets(b.keys)) continue;
    const std::int64_t pair = b.pairs.index_of(w.pair_of_lane(r), a.in.kv);
    const gptr<float> span = global(a.partial) + (pair * a.spans_max + block().z) * (D + 2);
    for (int n = 0; n < kColumns; ++n) {
      if (!has_column(b, w, n)) continue;
      const int d = (w.first_column + n) * 8 + lane() % 4 * 2;
      span[d] = sums.a[n].at[2 * r];
      span[d + 1] = sums.a[n].at[2 * r + 1];
    }
    if (warp_of_pairs() != 0 || lane() % 4 != 0) continue;
    span[D] = sums.m[r];
    span[D + 1] = sums.l.at[2 * r];
  }
}

/// All spans of the block, in ascending order. kColumns: of a warp.
template <class Half, int kColumns, class Args, class Block>
FORGE_DEVICE void attend_tiles(const Args& a, const Block& b, const SharedScores& shared) {
  const SpanWarp w = span_warp(b, kSpanWarps);
  SpanSums<kColumns> sums;
  SpanSums<kColumns> total;
  for_each_tile(
      b, a.pairs(), [&](int tile) { add_span_tile<Half>(b, shared, w, tile, sums); },
      [&] {
        if (a.partial != nullptr) return;
        total.merge(sums);
        sums = {};
      });
  if (a.partial != nullptr) return write_partial(a, b, w, sums);
  finish_spans(b, w, total);
}

/// Takes as few columns a warp as will do: the least kColumns of 1, 2, 4, 8.
template <class Half, int kColumns = 1, class Block>
FORGE_DEVICE void attend_columns(const gpu::AttendSpansArgs& a, const Block& b,
                                 const SharedScores& shared) {
  constexpr int kSize = kColumns * kSpanWarps * 8;
  constexpr int kSizeMax =
      Block::kHeadSize != kAnyHeads ? Block::kHeadSize : numerics::kHeadSizeMax;
  if constexpr (kSize < kSizeMax) {
    if (b.head_size() > kSize) return attend_columns<Half, 2 * kColumns>(a, b, shared);
  }
  attend_tiles<Half, kColumns>(a, b, shared);
}

/// All the work of a block, with code for kHeads.
template <int kHeads>
FORGE_DEVICE void attend_heads(const gpu::AttendSpansArgs& a, const SpanBlock<false>& any,
                               const SharedScores& shared) {
  const auto b = any.of_heads<kHeads>();
  with_half(numerics::half_type(a.in.kv.type),
            [&](auto half) { attend_columns<decltype(half)>(a, b, shared); });
}

/// What the block goes through: all that its pairs see, or of that its span.
template <class Args>
FORGE_DEVICE SeenKeys keys_of_block(const Args& a, const SpanPairs& pairs) {
  SeenKeys keys = pairs.seen_from(0, a.pairs(), a.in);
  if (a.partial == nullptr) return keys;
  const int start = block().z * numerics::kSpan;
  if (keys.first < start) keys.first = start;
  if (keys.end > start + numerics::kSpan) keys.end = start + numerics::kSpan;
  return keys;
}

FORGE_KERNEL(gpu::AttendSpansArgs::kThreads, 3) attend_spans(gpu::AttendSpansArgs a) {
  SIMT_SHARED_DYNAMIC(std::uint16_t, numbers);
  SIMT_SHARED(std::uint32_t, slots, kSlots);
  SIMT_SHARED(std::uint32_t, weights, gpu::kSpanPairs * kWeightWords);
  SIMT_SHARED(float, maxima, kSpanWarps* gpu::kSpanPairs);
  start_next();
  wait_for_previous();
  const SpanPairs pairs = pairs_of_block(a.in, a.tiles, gpu::kSpanPairs, block().x);
  const SeenKeys keys = keys_of_block(a, pairs);
  if (keys.first >= keys.end) return;
  const int row_numbers = gpu::span_row_numbers(a.in.kv.head_size);
  const SpanBlock<false> b{a.in,  pairs,   keys, numbers, numbers + gpu::kSpanPairs * row_numbers,
                           slots, a.stages};
  const SharedScores shared{weights, maxima};
  const int heads = heads_of_code(a.in);
  if (heads == 128) return attend_heads<128>(a, b, shared);
  if (heads == 64) return attend_heads<64>(a, b, shared);
  attend_heads<kAnyHeads>(a, b, shared);
}

}  // namespace FORGE_KERNELS
