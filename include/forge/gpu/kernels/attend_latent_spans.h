// attend_latent_spans: attention over latents (numerics/latent_attention.h) in fast numerics, on
// tensor cores: attend_spans where the heads of a row share one key of D = C + R components, whose
// first C are their value.
//
// A thread block takes up to 16 pairs of a row and a head, 32 where there are more, and goes
// through their latents in tiles of 64. A latent is read once, and multiplied for the scores and
// for the sums. Rows, tiles, spans and `partial` are as those of attend_spans.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const SpanInput& in`, whose latent_size is
// 512, and `float* partial`:
//
//   const AttendLatentSpansArgs args{.in = in, .partial = partial, .spans_max = 32};
//   return launch_of(args, args.shape(2));  // up to 2 rows, contexts of up to 8192
#pragma once

#include "forge/gpu/kernels/latent_input.h"
#include "forge/gpu/kernels/span_input.h"

namespace forge::gpu {

/// Largest C.
inline constexpr int kLatentValueMax = 512;

/// Latents as the keys of one KV head, which `heads` heads share.
inline KvLayer keys_of(const LatentLayer& latents, int heads) {
  return {.pool = latents.pool,
          .block_stride = latents.block_stride,
          .tables = latents.tables,
          .table_stride = latents.table_stride,
          .block_size = latents.block_size,
          .kv_heads = 1,
          .group_size = heads,
          .head_size = latents.row_size(),
          .type = latents.type};
}

struct AttendLatentSpansArgs {
  static constexpr bool kOverlaps = true;
  static constexpr int kThreads = 256;
  static constexpr int kPairsMax = 2 * kSpanPairs;
  static constexpr BlockResources kResources{.shared_bytes = 6656, .registers = 255};
  SpanInput in;
  SpanTiles tiles = {};
  float* partial = nullptr;  ///< [T][H][spans_max][C + 2], as that of AttendSpansArgs
  int spans_max = 1;

  /// Pairs of a block.
  FORGE_HOST_DEVICE int pairs() const {
    return tiles.rows_max * in.kv.group_size > kSpanPairs ? kPairsMax : kSpanPairs;
  }
  /// Blocks of a tile.
  FORGE_HOST_DEVICE int pair_tiles() const { return tiles.blocks(pairs(), in.kv.group_size); }

  /// `count`: of rows, or of tiles.
  simt::LaunchShape shape(int count) const {
    return {{count * pair_tiles(), 1, partial == nullptr ? 1 : spans_max},
            kThreads / kPairsMax * pairs(),
            span_bytes(pairs(), in.kv.head_size, true)};
  }
};

}  // namespace forge::gpu
