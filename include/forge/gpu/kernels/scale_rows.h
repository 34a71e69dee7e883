// scale_rows: rows of floats as the products of fast numerics read them (numerics/scaled_norm.h):
// h[i] = half_of(x[row i] w), and the squares of x in groups of eight. Row i is row number i or, if
// `logits` is given, logits[i].row. A thread takes a group: x, the weights and h begin on multiples
// of 16 bytes.
//
// Where x is the residual stream and has just been added to, the product writes the same in passing
// (tensor_product.h); this is for the first norm, for the rows with logits, and for models whose
// norms come after a sub-layer.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const PassCounts* counts`,
// `const float* hidden`, `const float* weight`, `void* rows` and `float* squares`:
//
//   const ScaleRowsArgs args{.counts = counts,
//                            .logits = nullptr,
//                            .x = hidden,
//                            .weight = weight,
//                            .h = rows,
//                            .squares = squares,
//                            .size = 4096,
//                            .type = numerics::HalfType::bf16};
//   return launch_of(args, args.shape(64));  // up to 64 rows
#pragma once

#include "forge/gpu/kernels/kernel_launch.h"
#include "forge/gpu/kernels/step_data.h"
#include "forge/numerics/half.h"
#include "forge/numerics/scaled_norm.h"

namespace forge::gpu {

struct ScaleRowsArgs {
  static constexpr bool kOverlaps = true;
  static constexpr int kThreads = 128;
  static constexpr BlockResources kResources{.registers = 30};
  const PassCounts* counts;
  const LogitInput* logits;  ///< [R] or null
  const float* x;            ///< [T][size]
  const float* weight;       ///< [size], or null: 1
  void* h;                   ///< [T or R][size] of `type`
  float* squares;            ///< [T or R][size / 8], or null: not wanted
  int size;                  ///< a multiple of 8
  numerics::HalfType type;

  simt::LaunchShape shape(int rows_max) const {
    const int groups = size / numerics::kSquaresGroup;
    return {{rows_max, ceil_div(groups, kThreads), 1}, threads_for(groups, kThreads)};
  }
};

}  // namespace forge::gpu
