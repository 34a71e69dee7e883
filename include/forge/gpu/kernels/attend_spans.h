// attend_spans: attention of fast numerics on tensor cores (numerics/span_attention.h). A thread
// block takes up to 16 pairs of a row and a query head that share a KV head, and goes through
// their keys in tiles of 64, all of their spans, which it merges; or, where `partial` is given, one
// span, and merge_spans comes next.
//
// Rows are the leading rows of the pass, each of which attends by itself, or tiles of consecutive
// rows of a sequence.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const SpanInput& in` and
// `float* partial`:
//
//   const AttendSpansArgs args{.in = in, .partial = partial, .spans_max = 32};
//   return launch_of(args, args.shape(2));  // up to 2 rows, contexts of up to 8192
#pragma once

#include "forge/gpu/kernels/span_input.h"
#include "forge/numerics/span_attention.h"

namespace forge::gpu {

struct AttendSpansArgs {
  static constexpr bool kOverlaps = true;
  static constexpr int kThreads = 128;
  static constexpr int kPairs = 16;
  static constexpr int kStages = 2;
  static constexpr BlockResources kResources{.shared_bytes = 4352, .registers = 168};
  SpanInput in;
  const PromptTile* tiles = nullptr;  ///< null: each decode row is a tile
  /// [rows][H][spans_max][D + 2]: a, m and l of each span that a decode row sees; then there are no
  /// tiles. Null: spans are merged, into out.
  float* partial = nullptr;
  int spans_max = 1;  ///< spans of the longest context, if `partial` is given

  /// Numbers from a row of q, keys or values in shared memory to the next: whole pieces of 128
  /// bytes, in which 16 bytes change places (swizzle).
  FORGE_HOST_DEVICE static constexpr int row_numbers(int head_size) {
    return ceil_div(head_size, 64) * 64;
  }
  /// Blocks of a tile and KV head.
  FORGE_HOST_DEVICE int pair_tiles() const {
    return ceil_div((tiles == nullptr ? 1 : PromptTile::kMaxRows) * in.kv.group_size, kPairs);
  }

  /// `count`: of rows, or of tiles.
  simt::LaunchShape shape(int count) const {
    const int rows = kPairs + kStages * 2 * numerics::kSpanTile;
    return {{count * pair_tiles(), in.kv.kv_heads, partial == nullptr ? 1 : spans_max},
            kThreads,
            rows * row_numbers(in.kv.head_size) * 2};
  }
};

}  // namespace forge::gpu
