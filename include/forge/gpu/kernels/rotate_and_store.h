// rotate_and_store: rotates queries in place, and writes keys, rotated, and values to the pool,
// rounded to its type (numerics/kv_type.h). The keys and values in qkv stay as they are. The first
// rotary_size components of a head turn, in pairs i and i + rotary_size / 2 (rotate_pairs) or 2i
// and 2i + 1 (rotate_adjacent_pairs). Each warp takes one head.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const PassCounts* counts`,
// `const RowInput* rows`, `const float* rotary`, `float* qkv` and `const KvLayer& kv`:
//
//   const RotateAndStoreArgs args{.counts = counts,
//                                 .rows = rows,
//                                 .rotary = rotary,
//                                 .rotary_size = kv.head_size,
//                                 .adjacent = false,
//                                 .qkv = qkv,
//                                 .kv = kv};
//   return launch_of(args, args.shape(64));  // up to 64 rows
#pragma once

#include "forge/gpu/kernels/attention_input.h"

namespace forge::gpu {

struct RotateAndStoreArgs {
  static constexpr int kThreads = 32;
  static constexpr BlockResources kResources{.registers = 64};
  const PassCounts* counts;
  const RowInput* rows;
  const float* rotary;  ///< [positions][2][rotary_size / 2]: cosines, sines
  int rotary_size;      ///< even, at most D
  bool adjacent;        ///< pairs are 2i and 2i + 1
  float* qkv;           ///< [T][(H + 2 Hkv) D]
  KvLayer kv;

  simt::LaunchShape shape(int rows_max) const {
    return {{rows_max, kv.heads() + 2 * kv.kv_heads, 1}, kThreads};
  }
};

}  // namespace forge::gpu
