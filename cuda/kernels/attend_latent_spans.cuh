// attend_latent_spans: attention over latents in fast numerics, on tensor cores: attend_spans over
// keys whose first components are their values.
//
//   grid      x: tiles of rows, and within a tile 16 or 32 pairs of a row and a head each; z:
//             spans, where each is a block of its own. Four warps have the same 16 pairs: each has
//             16 of a tile's keys for the scores, and then a quarter of the columns, up to 128, for
//             the sums. With those of the spans before, that is what registers hold
//   memory    tiles of 64 latents, each once, for all pairs of a block: for D = 576 73,728 bytes,
//             and while one is worked on the next one is under way. 173 KB of shared memory, 191 KB
//             with 32 pairs: a block on a multiprocessor, which the devices of sm_90 have room for
//   code      of its own for C = 512 and R = 64, the sizes of DeepSeek-V2 and V3
//   bits      those of numerics/span_attention.h, as attend_spans
#pragma once

#include "attend_spans.cuh"
#include "forge/gpu/kernels/attend_latent_spans.h"

namespace FORGE_KERNELS {
using namespace simt;

/// Columns of a warp: there is room for so many.
inline constexpr int kLatentColumns = gpu::kLatentValueMax / 8 / kSpanWarps;

/// Components of a key, 64 of which turn, of latents that fill a warp's columns: those of
/// DeepSeek's models. They have code of their own (span_block.cuh).
inline constexpr int kCommonLatent = gpu::kLatentValueMax + 64;

FORGE_DEVICE bool has_common_latents(const gpu::SpanInput& in) {
  return in.kv.head_size == kCommonLatent && in.latent_size == gpu::kLatentValueMax &&
         in.score_cap <= 0;
}

FORGE_KERNEL(gpu::AttendLatentSpansArgs::kThreads, 1)
attend_latent_spans(gpu::AttendLatentSpansArgs a) {
  using Args = gpu::AttendLatentSpansArgs;
  SIMT_SHARED_DYNAMIC(std::uint16_t, numbers);
  SIMT_SHARED(std::uint32_t, slots, kSlots);
  SIMT_SHARED(std::uint32_t, weights, Args::kPairsMax * kWeightWords);
  SIMT_SHARED(float, maxima, Args::kThreads / kWarpSize * gpu::kSpanPairs);
  start_next();
  wait_for_previous();
  const SpanPairs pairs = pairs_of_block(a.in, a.tiles, a.pairs(), block().x);
  const SeenKeys keys = keys_of_block(a, pairs);
  if (keys.first >= keys.end) return;
  const int row_numbers = gpu::span_row_numbers(a.in.kv.head_size);
  const SpanBlock<true> any{
      a.in, pairs, keys, numbers, numbers + a.pairs() * row_numbers, slots, gpu::kSpanStages};
  const SharedScores shared{weights, maxima};
  with_half(numerics::half_type(a.in.kv.type), [&](auto half) {
    using Half = decltype(half);
    if (has_common_latents(a.in)) {
      attend_tiles<Half, kLatentColumns>(a, any.template of_heads<kCommonLatent>(), shared);
    } else {
      attend_tiles<Half, kLatentColumns>(a, any, shared);
    }
  });
}

}  // namespace FORGE_KERNELS
