// add_experts: y [T][d] = ((0 + w_a y_a) + w_b y_b) + ... + g shared, a < b < ... the experts of a
// row, g the gate of its shared ones (model/experts.h), or y += m times that; then, if wanted, the
// rows of it that the next product of fast numerics reads. Each thread makes one component.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const ChooseExpertsArgs& choose`,
// `const float* produced` and `float* hidden`:
//
//   const AddExpertsArgs args{.counts = choose.counts,
//                             .choices = choose.choices,
//                             .produced = produced,
//                             .shared = nullptr,
//                             .y = hidden,
//                             .size = 2048,
//                             .experts_per_token = choose.experts_per_token,
//                             .accumulate = true,
//                             .multiplier = 1};
//   return launch_of(args, args.shape(64));  // up to 64 rows
#pragma once

#include "forge/gpu/kernels/expert_data.h"
#include "forge/gpu/kernels/kernel_launch.h"
#include "forge/gpu/kernels/tensor_product.h"

namespace forge::gpu {

struct AddExpertsArgs {
  static constexpr bool kOverlaps = true;
  static constexpr int kThreads = 128;
  static constexpr BlockResources kResources{.registers = 32};
  const PassCounts* counts;
  const ExpertChoice* choices;  ///< [T][A]
  const float* produced;        ///< [T A][d]
  const float* shared;          ///< [T][d] or null: what the shared experts made
  float* y;                     ///< [T][d]
  int size;                     ///< d
  int experts_per_token;        ///< A
  bool accumulate;              ///< add to y, which is a residual stream
  float multiplier;             ///< m, of what is added to it
  /// [T] or null: z, of which the gate of the shared experts is g = 1 / (1 + exp(-z)); null: g = 1.
  const float* shared_gates = nullptr;
  NextRows next = {};            ///< of y; then d is a multiple of 8
  numerics::HalfType type = {};  ///< of its rows

  simt::LaunchShape shape(int rows_max) const {
    return {{rows_max, ceil_div(size, kThreads), 1}, threads_for(size, kThreads)};
  }
};

}  // namespace forge::gpu
