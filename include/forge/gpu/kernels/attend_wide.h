// attend_wide: attention of fast numerics of many rows of a sequence, such as those of prompts, on
// tensor cores (numerics/span_attention.h).
//
// A thread block takes 128 pairs of a row and a query head that share a KV head, 64 where heads
// have more than 128 components, and goes through their keys in tiles of 64: a key that it reads is
// multiplied 128 times, and eight times as many pairs share it as in attend_spans. A warp has 16 of
// the pairs, from their scores to their sums, in its registers.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const SpanInput& in` and
// `const PromptTile* tiles`:
//
//   const AttendWideArgs args{.in = in, .tiles = {tiles, 128}};
//   return launch_of(args, args.shape(4));  // up to 4 tiles of up to 128 rows
#pragma once

#include "forge/gpu/kernels/span_input.h"

namespace forge::gpu {

struct AttendWideArgs {
  static constexpr bool kOverlaps = true;
  static constexpr int kThreads = 256;
  static constexpr BlockResources kResources{.shared_bytes = 2048, .registers = 255};
  SpanInput in;
  SpanTiles tiles;

  /// Warps that share 16 pairs, so that the sums of each find room in its registers.
  FORGE_HOST_DEVICE int column_warps() const { return in.kv.head_size > 128 ? 2 : 1; }
  /// Pairs of a block.
  FORGE_HOST_DEVICE int pairs() const {
    return kThreads / simt::kWarpSize / column_warps() * kSpanPairs;
  }
  /// Blocks of a tile and KV head.
  FORGE_HOST_DEVICE int pair_tiles() const { return tiles.blocks(pairs(), in.kv.group_size); }

  /// `count`: of tiles.
  simt::LaunchShape shape(int count) const {
    return {
        {count * pair_tiles(), in.kv.kv_heads, 1}, kThreads, span_bytes(pairs(), in.kv.head_size)};
  }
};

}  // namespace forge::gpu
