// glu: the gated linear unit, gated[i] = f(gate[i], up[i]), with the function that the model has.
//
//   grid      x: rows; y: pieces of 4 floats a thread
//   memory    gate and up lie side by side in a row of `gate_up`; 16 bytes a thread of each,
//             consecutive in a warp (float by float where F is no multiple of 4)
//   bits      a function of numerics/canonical.h, element by element: the order of rows and threads
//             has nothing to do with it
#pragma once

#include "forge/gpu/kernels/glu.h"
#include "forge/numerics/canonical.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

FORGE_DEVICE float gated_unit(const gpu::GluFunction& f, float gate, float up) {
  using Kind = gpu::GluFunction::Kind;
  if (f.kind == Kind::gelu_tanh) return numerics::gelu_tanh(gate) * up;
  if (f.kind == Kind::clamped_swiglu) return numerics::clamped_swiglu(gate, up, f.clamp);
  return numerics::silu(gate) * up;
}

FORGE_KERNEL(gpu::GluArgs::kThreads) glu(gpu::GluArgs a) {
  const auto row = static_cast<std::uint32_t>(block().x);
  const gpu::PassCounts counts = global(a.counts)[0];
  if (row >= counts.rows) return;

  const gptr<const float> gate = global(a.gate_up) + std::int64_t{row} * 2 * a.size;
  const gptr<const float> up = gate + a.size;
  const gptr<float> gated = global(a.gated) + std::int64_t{row} * a.size;
  const gpu::GluFunction& f = a.function;
  const int first = 4 * (block().y * threads() + thread());
  if (a.size % 4 == 0) {
    if (first >= a.size) return;
    const Float4 g = load4(gate + first);
    const Float4 u = load4(up + first);
    store4(gated + first, {gated_unit(f, g.x, u.x), gated_unit(f, g.y, u.y),
                           gated_unit(f, g.z, u.z), gated_unit(f, g.w, u.w)});
  } else {
    for (int i = first; i < first + 4 && i < a.size; ++i) {
      const float g = gate[i];
      const float u = up[i];
      gated[i] = gated_unit(f, g, u);
    }
  }
}

}  // namespace FORGE_KERNELS
