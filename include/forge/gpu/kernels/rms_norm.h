// rms_norm: y[i] = rms_norm(x[row i]): numerics/vector_ops.h. Of the rows in order or, if `logits`
// is given, of logits[i].row. A warp a row: its 32 lanes are those of the definition.
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
  const float* x;            ///< [T][d]
  const float* weight;       ///< [d]
  float* y;                  ///< [T or R][d]
  int size;                  ///< d
  float eps;

  static simt::LaunchShape shape(int rows_max) { return {{rows_max, 1, 1}, kThreads}; }
};

}  // namespace forge::gpu
