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
//   bits      those of numerics/span_attention.h, as attend_spans
#pragma once

#include "attend_spans.cuh"
#include "forge/gpu/kernels/attend_latent_spans.h"

namespace FORGE_KERNELS {
using namespace simt;

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
  const SpanBlock<true> b{a.in,  pairs,           keys, numbers, numbers + a.pairs() * row_numbers,
                          slots, gpu::kSpanStages};
  const SharedScores shared{weights, maxima};
  constexpr int kColumns = gpu::kLatentValueMax / 8 / kSpanWarps;
  with_half(numerics::half_type(a.in.kv.type),
            [&](auto half) { attend_tiles<decltype(half), kColumns>(a, b, shared); });
}

}  // namespace FORGE_KERNELS
