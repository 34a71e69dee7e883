// rms_norm: y[i] = m rms_norm(x[row i]), or y[i] += m rms_norm(x[row i]) (numerics/vector_ops.h).
// Row i is row number i or, if `logits` is given, logits[i].row. A row may hold several vectors,
// each with a norm of its own, such as the heads of queries. Each warp takes one vector: its 32
// lanes are those of the definition.
//
//   norm of                     x, y                          size   groups   stride
//   hidden states               hidden, normed                d      1        d
//   each head of queries        qkv, in place                 D      H        (H + 2 Hkv) D
//   each head of keys           qkv + H D, in place           D      Hkv      (H + 2 Hkv) D
//   the row of all queries      qkv, in place                 H D    1        (H + 2 Hkv) D
//   what a sub-layer adds       added, hidden (accumulate)    d      1        d
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const PassCounts* counts`,
// `const float* hidden`, `const float* weight` and `float* normed`:
//
//   const RmsNormArgs args{.counts = counts,
//                          .logits = nullptr,
//                          .x = hidden,
//                          .weight = weight,
//                          .y = normed,
//                          .size = 4096,
//                          .eps = 1e-5f};
//   return launch_of(args, args.shape(64));  // up to 64 rows
#pragma once

#include "forge/gpu/kernels/kernel_launch.h"
#include "forge/gpu/kernels/step_data.h"

namespace forge::gpu {

struct RmsNormArgs {
  static constexpr int kThreads = 32;
  static constexpr BlockResources kResources{.registers = 64};
  const PassCounts* counts;
  const LogitInput* logits;  ///< [R] or null
  const float* x;            ///< [T][x_stride], of which [groups][size] are read
  const float* weight;       ///< [size]
  float* y;                  ///< [T or R][y_stride], of which [groups][size] are written; may be x
  int size;
  float eps;
  int groups = 1;
  int x_stride = 0;         ///< floats from a row to the next; 0: groups * size
  int y_stride = 0;         ///< likewise
  float multiplier = 1;     ///< m
  bool accumulate = false;  ///< add to y, which is a residual stream

  simt::LaunchShape shape(int rows_max) const { return {{rows_max, groups, 1}, kThreads}; }
};

}  // namespace forge::gpu
