// attend_wide: attention of fast numerics of many rows of a sequence, on tensor cores, after
// FlashAttention-2: each warp has rows of its own, so that no scores go through shared memory.
//
//   grid      x: tiles of rows, and within a tile 128 pairs of a row and a query head each; y: KV
//             heads. 256 threads: a warp has 16 pairs, from their scores to their sums. Of heads
//             with more than 128 components a block has 64 pairs, and two warps have the same 16:
//             both make all the scores, and each half of the sums, as much as registers hold
//
//   scores    S[16][64] = Q[16][D] K[64][D]^T       in registers
//   weights   P[16][64] = half_of(exp2(S - m'))     in registers: what lanes have of two sums of
//                                                   16 x 8 is, in 16 bits, what they are to have
//                                                   of a factor of 16 x 16
//   sums      A[16][D] += P[16][64] V[64][D]
//             l[16] += P[16][64] 1[64]
//
//   order     the last rows, which see the most, begin first
//   memory    tiles of 64 keys and their values come by asynchronous copies, each while the tile
//             before is worked on (span_block.cuh), once for all pairs of a block. 98 KB of shared
//             memory for D = 128
//   bits      those of numerics/span_attention.h: tiles and spans begin at its positions, and what
//             others of the block see beyond a row's own keys changes nothing. So a warp leaves out
//             the tiles that none of its rows sees: those after a row's own position, and before
//             its window
//
// Source: Dao, FlashAttention-2, arXiv:2307.08691.
#pragma once

#include "forge/gpu/kernels/attend_wide.h"
#include "span_sums.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// Adds a tile to the sums.
template <class Half, int kColumns, class Block>
FORGE_DEVICE void add_wide_tile(const Block& b, const SpanWarp& w, int tile,
                                SpanSums<kColumns>& sums) {
  SpanScores<numerics::kSpanTile / 8> scores;
  multiply_keys<Half>(b, w, tile, 0, scores);
  find_scores(b, w, keys_of_tile(tile).first, sums.m, scores);
  find_factors(sums.m, scores);
  for (int r = 0; r < 2; ++r) sums.m[r] = scores.m[r];
  sums.multiply(scores.factor);
  multiply_values<Half>(b, w, tile, sums, [&](int i) {
    return MatrixA{{weights_of<Half>(scores, 2 * i, 0), weights_of<Half>(scores, 2 * i, 1),
                    weights_of<Half>(scores, 2 * i + 1, 0),
                    weights_of<Half>(scores, 2 * i + 1, 1)}};
  });
}

/// All spans of the block, in ascending order. kColumns: of a warp, of which kColumnWarps have the
/// same pairs.
template <class Half, int kColumnWarps, int kColumns, class Block>
FORGE_DEVICE void attend_wide_tiles(const gpu::AttendWideArgs& a, const Block& b) {
  const SpanWarp w = span_warp(b, kColumnWarps);
  const SeenKeys seen_by_warp = b.pairs.seen_from(w.first_pair, gpu::kSpanPairs, a.in);
  SpanSums<kColumns> sums;
  SpanSums<kColumns> total;
  for_each_tile(
      b, a.pairs(),
      [&](int tile) {
        if (!seen_by_warp.meets(keys_of_tile(tile))) return;
        add_wide_tile<Half>(b, w, tile, sums);
      },
      [&] {
        total.merge(sums);
        sums = {};
      });
  finish_spans(b, w, total);
}

/// All the work of a block, with code for kHeads.
template <int kHeads>
FORGE_DEVICE void attend_wide_heads(const gpu::AttendWideArgs& a, const SpanBlock<false>& any) {
  const auto b = any.of_heads<kHeads>();
  with_half(numerics::half_type(a.in.kv.type), [&](auto half) {
    if constexpr (kHeads != kAnyHeads) {
      attend_wide_tiles<decltype(half), 1, kHeads / 8>(a, b);
    } else if (a.column_warps() == 2) {
      attend_wide_tiles<decltype(half), 2, 16>(a, b);
    } else {
      attend_wide_tiles<decltype(half), 1, 16>(a, b);
    }
  });
}

FORGE_KERNEL(gpu::AttendWideArgs::kThreads, 1) attend_wide(gpu::AttendWideArgs a) {
  SIMT_SHARED_DYNAMIC(std::uint16_t, numbers);
  SIMT_SHARED(std::uint32_t, slots, kSlots);
  start_next();
  wait_for_previous();
  const SpanPairs pairs = pairs_of_block(a.in, a.tiles, a.pairs(), grid().x - 1 - block().x);
  if (pairs.count == 0) return;
  const SeenKeys keys = pairs.seen_from(0, pairs.count, a.in);
  const int row_numbers = gpu::span_row_numbers(a.in.kv.head_size);
  const SpanBlock<false> b{a.in,  pairs,           keys, numbers, numbers + a.pairs() * row_numbers,
                           slots, gpu::kSpanStages};
  const int heads = heads_of_code(a.in);
  if (heads == 128) return attend_wide_heads<128>(a, b);
  if (heads == 64) return attend_wide_heads<64>(a, b);
  attend_wide_heads<kAnyHeads>(a, b);
}

}  // namespace FORGE_KERNELS
