// glu: the gated linear unit of an MLP (Shazeer, arXiv:2002.05202), gated [T][F] = f(gate, up) with
// f the model's: SwiGLU, GeGLU, or SwiGLU of clamped inputs. A thread makes 4 floats.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const PassCounts* counts`,
// `const float* gate_up` and `float* gated`:
//
//   const GluArgs args{
//       .counts = counts, .gate_up = gate_up, .gated = gated, .size = 14336};
//   return launch_of(args, args.shape(64));  // up to 64 rows
#pragma once

#include <cstdint>

#include "forge/gpu/kernels/kernel_launch.h"
#include "forge/gpu/kernels/step_data.h"
#include "forge/numerics/canonical.h"

namespace forge::gpu {

/// f(gate, up), of numerics/canonical.h: silu(gate) * up, gelu_tanh(gate) * up, or
/// clamped_swiglu(gate, up, clamp). The kinds are those of model::Activation.
struct GluFunction {
  enum class Kind : std::uint8_t { silu, gelu_tanh, clamped_swiglu };

  Kind kind = Kind::silu;
  numerics::SwigluClamp clamp = {};
};

struct GluArgs {
  static constexpr int kThreads = 128;
  static constexpr BlockResources kResources{.registers = 24};
  const PassCounts* counts;
  const float* gate_up;  ///< [T][2 F]
  float* gated;          ///< [T][F]
  int size;              ///< F
  GluFunction function = {};

  simt::LaunchShape shape(int rows_max) const {
    const int quads = ceil_div(size, 4);
    return {{rows_max, ceil_div(quads, kThreads), 1}, threads_for(quads, kThreads)};
  }
};

}  // namespace forge::gpu
