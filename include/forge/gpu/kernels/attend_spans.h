// attend_spans: attention of fast numerics on tensor cores (numerics/span_attention.h). A thread
// block takes up to 16 pairs of a row and a query head that share a KV head, and goes through
// their keys in tiles of 64, all of their spans, which it merges; or, where `partial` is given, one
// span, and merge_spans comes next.
//
// Rows are the leading rows of the pass, each of which attends by itself, or tiles of consecutive
// rows of a sequence: drafts that are verified. Of long tiles attend_wide reads keys less often.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const SpanInput& in` and
// `float* partial`:
//
//   const AttendSpansArgs args{.in = in, .partial = partial, .spans_max = 32};
//   return launch_of(args, args.shape(2));  // up to 2 rows, contexts of up to 8192
#pragma once

#include "forge/gpu/kernels/span_input.h"

namespace forge::gpu {

struct AttendSpansArgs {
  static constexpr bool kOverlaps = true;
  static constexpr int kThreads = 128;
  static constexpr BlockResources kResources{.shared_bytes = 4352, .registers = 168};
  SpanInput in;
  SpanTiles tiles = {};
  float* partial = nullptr;  ///< [T][H][spans_max][D + 2]: a, m and l of each span that a row sees;
                             ///< null: spans are merged, into out
  int spans_max = 1;         ///< spans of the longest context, if `partial` is given
  /// Tiles of keys that a block has in shared memory: kSpanStages where the most find no room.
  int stages = kSpanStagesMax;

  /// Pairs of a block.
  FORGE_HOST_DEVICE static constexpr int pairs() { return kSpanPairs; }
  /// Blocks of a tile and KV head.
  FORGE_HOST_DEVICE int pair_tiles() const { return tiles.blocks(pairs(), in.kv.group_size); }

  /// `count`: of rows, or of tiles.
  simt::LaunchShape shape(int count) const {
    return {{count * pair_tiles(), in.kv.kv_heads, partial == nullptr ? 1 : spans_max},
            kThreads,
            span_bytes(pairs(), in.kv.head_size, false, stages)};
  }
};

}  // namespace forge::gpu
