// attend_spans: attention of fast numerics, on tensor cores. The query heads of a row that share a
// KV head are few rows for a matrix instruction, which has 16; so rows of a sequence, if there are
// several, go through its keys together.
//
//   grid      x: tiles of rows, and within a tile 16 pairs of a row and a query head each; y: KV
//             heads; z: spans, where each is a block of its own ("split-K", flash decoding) and
//             merge_spans puts them together; 128 threads
//   memory    tiles of 64 keys and their values come by asynchronous copies, each while the tile
//             before is worked on (span_tile.cuh), once for all pairs of a block. Where they are is
//             looked up once a span
//   bits      those of numerics/span_attention.h: tiles and spans begin at its positions, and what
//             others of the block see beyond a row's own keys changes nothing
#pragma once

#include "forge/gpu/kernels/attend_spans.h"
#include "span_tile.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// M, L and A, as the lane has m, l and a of a span.
template <int kTiles>
FORGE_DEVICE void merge_span(SpanSums<kTiles>& total, const SpanSums<kTiles>& span) {
  const numerics::SpanFactors factors[2] = {numerics::span_factors(total.m[0], span.m[0]),
                                            numerics::span_factors(total.m[1], span.m[1])};
  for (int r = 0; r < 2; ++r) total.m[r] = factors[r].m;
  for (int i = 0; i < 4; ++i) {
    total.l.at[i] = factors[i / 2].merged(total.l.at[i], span.l.at[i]);
    for (int n = 0; n < kTiles; ++n) {
      total.a[n].at[i] = factors[i / 2].merged(total.a[n].at[i], span.a[n].at[i]);
    }
  }
}

/// The sinks of the lane's two heads, each a span of one key whose value is 0.
template <int kTiles>
FORGE_DEVICE void merge_sinks(const SpanBlock& b, SpanSums<kTiles>& total) {
  SpanSums<kTiles> sinks{.l = {{1, 1, 1, 1}}};
  for (int r = 0; r < 2; ++r) {
    const int pair = pair_of_lane(r);
    if (pair >= b.pairs.count) continue;
    const float sink = global(b.in.sinks)[b.pairs.head_of(pair, b.in.kv.group_size)];
    sinks.m[r] = sink * numerics::kLog2E;
  }
  merge_span(total, sinks);
}

/// The result goes to out [T][H D], of numbers of type Out.
template <class Out, int kTiles>
FORGE_DEVICE void write_attended(const SpanBlock& b, const SpanSums<kTiles>& total) {
  const int D = b.in.kv.head_size;
  const gptr<std::uint32_t> out = global(static_cast<std::uint32_t*>(b.in.out));
  for (int r = 0; r < 2; ++r) {
    const int pair = pair_of_lane(r);
    if (pair >= b.pairs.count) continue;
    const gptr<std::uint32_t> head = out + b.pairs.index_of(pair, b.in.kv) * (D / 2);
    for (int n = 0; n < kTiles; ++n) {
      const int column = total.column_of(n);
      if (column >= D / 8) continue;
      const float first = numerics::span_result(total.a[n].at[2 * r], total.l.at[2 * r]);
      const float second = numerics::span_result(total.a[n].at[2 * r + 1], total.l.at[2 * r]);
      head[column * 4 + lane() % 4] = pack_pair<Out>(first, second);
    }
  }
}

/// a, m and l of the block's span go to `partial`.
template <int kTiles>
FORGE_DEVICE void write_partial(const gpu::AttendSpansArgs& a, const SpanPairs& pairs,
                                const SpanSums<kTiles>& sums) {
  const int D = a.in.kv.head_size;
  for (int r = 0; r < 2; ++r) {
    const int pair = pair_of_lane(r);
    if (pair >= pairs.count) continue;
    const std::int64_t index = pairs.index_of(pair, a.in.kv) * a.spans_max + block().z;
    const gptr<float> span = global(a.partial) + index * (D + 2);
    for (int n = 0; n < kTiles; ++n) {
      const int column = sums.column_of(n);
      if (column >= D / 8) continue;
      span[column * 8 + lane() % 4 * 2] = sums.a[n].at[2 * r];
      span[column * 8 + lane() % 4 * 2 + 1] = sums.a[n].at[2 * r + 1];
    }
    if (warp() != 0 || lane() % 4 != 0) continue;
    span[D] = sums.m[r];
    span[D + 1] = sums.l.at[2 * r];
  }
}

/// All spans of the block, in ascending order. kTiles: column tiles of a warp.
template <class Half, int kTiles>
FORGE_DEVICE void attend_tiles(const gpu::AttendSpansArgs& a, const SpanBlock& b) {
  const SeenKeys seen[2] = {b.pairs.seen_by(pair_of_lane(0), a.in),
                            b.pairs.seen_by(pair_of_lane(1), a.in)};
  SpanSums<kTiles> sums;
  SpanSums<kTiles> total;
  for (int tile = b.keys.first / numerics::kSpanTile; tile * numerics::kSpanTile < b.keys.end;
       ++tile) {
    wait_copies<0>();
    sync_block();  // the tile is there, and the tile before is done with
    start_tile(b, tile + 1);
    add_span_tile<Half>(b, tile, seen, sums);
    const int end = (tile + 1) * numerics::kSpanTile;
    if (a.partial != nullptr || (end < b.keys.end && end % numerics::kSpan != 0)) continue;
    merge_span(total, sums);
    sums = {};
  }
  if (a.partial != nullptr) {
    write_partial(a, b.pairs, sums);
    return;
  }
  if (a.in.sinks != nullptr) merge_sinks(b, total);
  if (a.in.out_type == numerics::HalfType::f16) {
    write_attended<numerics::F16>(b, total);
  } else {
    write_attended<numerics::BF16>(b, total);
  }
}

/// Takes as few column tiles a warp as will do: the least kTiles of 1, 2, 4, 8.
template <class Half, int kTiles = 1>
FORGE_DEVICE void attend_heads(const gpu::AttendSpansArgs& a, const SpanBlock& b) {
  constexpr int kColumns = kTiles * kSpanWarps * 8;
  if constexpr (kColumns < numerics::kHeadSizeMax) {
    if (a.in.kv.head_size > kColumns) {
      attend_heads<Half, 2 * kTiles>(a, b);
      return;
    }
  }
  attend_tiles<Half, kTiles>(a, b);
}

FORGE_KERNEL(gpu::AttendSpansArgs::kThreads, 3) attend_spans(gpu::AttendSpansArgs a) {
  SIMT_SHARED_DYNAMIC(std::uint16_t, numbers);
  SIMT_SHARED(std::int64_t, slots, numerics::kSpan);
  SIMT_SHARED(std::uint32_t, weights, kSpanPairs * kWeightWords);
  SIMT_SHARED(float, maxima, kSpanWarps* kSpanPairs);
  start_next();
  wait_for_previous();
  const SpanPairs pairs = pairs_of_block(a);
  const SeenKeys keys = keys_of_block(a, pairs);
  if (keys.first >= keys.end) return;

  const SpanBlock b{a.in, pairs, keys, {numbers, slots, weights, maxima}};
  const int tile = keys.first / numerics::kSpanTile;
  copy_queries(b);
  find_slots(b, keys.first / numerics::kSpan);
  sync_block();
  copy_keys(b, tile);
  commit_copies();
  if (a.in.kv.type == numerics::KvType::f16) {
    attend_heads<numerics::F16>(a, b);
  } else {
    attend_heads<numerics::BF16>(a, b);
  }
}

}  // namespace FORGE_KERNELS
