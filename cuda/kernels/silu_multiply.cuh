// silu_multiply: the gate of SwiGLU, gated[i] = silu(gate[i]) * up[i].
//
//   grid      x: rows; y: pieces of 4 floats a thread
//   memory    gate and up lie side by side in a row of `gate_up`; 16 bytes a thread of each,
//             consecutive in a warp (float by float where F is no multiple of 4)
//   bits      numerics::silu and one product, element by element: the order of rows and threads has
//             nothing to do with it
#pragma once

#include "forge/gpu/kernels/silu_multiply.h"
#include "forge/numerics/canonical.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

FORGE_KERNEL(gpu::SiluMultiplyArgs::kThreads) silu_multiply(gpu::SiluMultiplyArgs a) {
  const auto row = static_cast<std::uint32_t>(block().x);
  const gpu::PassCounts counts = global(a.counts)[0];
  if (row >= counts.rows) return;

  const gptr<const float> gate = global(a.gate_up) + std::int64_t{row} * 2 * a.size;
  const gptr<const float> up = gate + a.size;
  const gptr<float> gated = global(a.gated) + std::int64_t{row} * a.size;
  const int first = 4 * (block().y * threads() + thread());
  if (a.size % 4 == 0) {
    if (first >= a.size) return;
    const Float4 g = load4(gate + first);
    const Float4 u = load4(up + first);
    store4(gated + first, {numerics::silu(g.x) * u.x, numerics::silu(g.y) * u.y,
                           numerics::silu(g.z) * u.z, numerics::silu(g.w) * u.w});
  } else {
    for (int i = first; i < first + 4 && i < a.size; ++i) {
      const float g = gate[i];
      const float u = up[i];
      gated[i] = numerics::silu(g) * u;
    }
  }
}

}  // namespace FORGE_KERNELS
