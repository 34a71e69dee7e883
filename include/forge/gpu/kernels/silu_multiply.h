// silu_multiply: gated [T][F] = silu(gate) * up. A thread makes 4 floats.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const PassCounts* counts`,
// `const float* gate_up` and `float* gated`:
//
//   const SiluMultiplyArgs args{
//       .counts = counts, .gate_up = gate_up, .gated = gated, .size = 14336};
//   return launch_of(args, args.shape(64));  // up to 64 rows
#pragma once

#include "forge/gpu/kernels/kernel_launch.h"
#include "forge/gpu/kernels/step_data.h"

namespace forge::gpu {

struct SiluMultiplyArgs {
  static constexpr int kThreads = 128;
  static constexpr BlockResources kResources{.registers = 24};
  const PassCounts* counts;
  const float* gate_up;  ///< [T][2 F]
  float* gated;          ///< [T][F]
  int size;              ///< F

  simt::LaunchShape shape(int rows_max) const {
    const int quads = ceil_div(size, 4);
    return {{rows_max, ceil_div(quads, kThreads), 1}, threads_for(quads, kThreads)};
  }
};

}  // namespace forge::gpu
