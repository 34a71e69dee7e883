// prepare_heads: what happens between the product of queries, keys and values and attention, of
// fast numerics (numerics/fast.h): each head is normed where the model has that, and turned, in
// floats, with the bits of rms_norm and rotate_and_store; then queries, keys and values are rounded
// to 16 bits, and keys and values go to the pool. qkv stays as it is. A warp takes one head, or of
// many rows several.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const PassCounts* counts`,
// `const RowInput* rows`, `const float* rotary`, `const float* qkv`, `void* q` and
// `const KvLayer& kv`:
//
//   const PrepareHeadsArgs args{.counts = counts,
//                               .rows = rows,
//                               .rotary = rotary,
//                               .rotary_size = kv.head_size,
//                               .adjacent = false,
//                               .qkv = qkv,
//                               .q = q,
//                               .kv = kv};
//   return launch_of(args, args.shape(64));  // up to 64 rows
#pragma once

#include "forge/gpu/kernels/attention_input.h"

namespace forge::gpu {

/// The norms of queries and keys; both are given or neither is.
struct HeadNorms {
  const float* query = nullptr;  ///< [D], or [H D] if of all heads; null: there is none
  const float* key = nullptr;    ///< [D], or [Hkv D] if of all heads; null: there is none
  bool of_all_heads = false;     ///< the norm is of the row of all heads, not of each head
  float eps = 0;
};

struct PrepareHeadsArgs {
  static constexpr bool kOverlaps = true;
  static constexpr int kThreads = 256;
  static constexpr int kBlocks = 5;       ///< that are to fit on a multiprocessor
  static constexpr int kFewRowsMax = 64;  ///< of which heads are spread over blocks
  static constexpr BlockResources kResources{.registers = 46};
  const PassCounts* counts;
  const RowInput* rows;
  const float* rotary;  ///< [positions][2][rotary_size / 2]: cosines, sines
  int rotary_size;      ///< even, at most D
  bool adjacent;        ///< pairs are 2i and 2i + 1
  const float* qkv;     ///< [T][(H + 2 Hkv) D]
  void* q;              ///< [T][H D] of kv.type
  KvLayer kv;           ///< of 16 bits
  HeadNorms norms = {};

  /// Of queries, keys and values.
  FORGE_HOST_DEVICE int head_count() const { return kv.heads() + 2 * kv.kv_heads; }

  simt::LaunchShape shape(int rows_max) const {
    constexpr int kWarps = kThreads / simt::kWarpSize;
    return {{rows_max, rows_max <= kFewRowsMax ? ceil_div(head_count(), kWarps) : 1, 1}, kThreads};
  }
};

}  // namespace forge::gpu
