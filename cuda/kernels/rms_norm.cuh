// rms_norm: y = (x * scale) * weight with scale = 1 / sqrt(mean of squares + eps), a row or each of
// the heads of a row.
//
//   grid      x: rows; y: vectors of a row; a block is one warp
//   memory    lane j reads elements j, j + 32, ...: 128 consecutive bytes a request, 16 requests in
//             flight. The second reading of x comes from the cache
//   bits      the definition sums in 32 lanes, element i in lane i % 32, then adds the lanes as a
//             tree (numerics/canonical.h): the lanes are this warp, the tree is warp_sum. The sum
//             for a residual stream is add_scaled (numerics/vector_ops.h), an fma an element
//
// In place, a lane writes the elements that it alone reads again.
#pragma once

#include "forge/gpu/kernels/rms_norm.h"
#include "forge/numerics/canonical.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

/// Sum of squares of x [size], the same bits in every lane: numerics::sum_of_squares_reference.
FORGE_DEVICE float warp_sum_of_squares(gptr<const float> x, int size) {
  constexpr int kInFlight = 16;  // loads that are under way before the first is used
  float sum = 0.0f;
  int i = lane();
  for (; i + (kInFlight - 1) * kWarpSize < size; i += kInFlight * kWarpSize) {
    float loaded[kInFlight];
    for (int n = 0; n < kInFlight; ++n) loaded[n] = x[i + n * kWarpSize];
    for (const float v : loaded) sum = numerics::fma(v, v, sum);
  }
  for (; i < size; i += kWarpSize) {
    const float last = x[i];
    sum = numerics::fma(last, last, sum);
  }
  return warp_sum(sum);
}

/// What the norm of x [size] multiplies it by, the same bits in every lane.
FORGE_DEVICE float norm_scale(gptr<const float> x, int size, float eps) {
  const float mean = numerics::divide(warp_sum_of_squares(x, size), static_cast<float>(size));
  return numerics::rsqrt(mean + eps);
}

FORGE_KERNEL(gpu::RmsNormArgs::kThreads) rms_norm(gpu::RmsNormArgs a) {
  const auto i = static_cast<std::uint32_t>(block().x);
  const gpu::PassCounts counts = global(a.counts)[0];
  if (i >= (a.logits == nullptr ? counts.rows : counts.logit_rows)) return;
  std::uint32_t row = i;
  if (a.logits != nullptr) {
    const gpu::LogitInput logit = global(a.logits)[i];
    row = logit.row;
  }

  const int first = block().y * a.size;
  const int width = a.groups * a.size;
  const int x_stride = a.x_stride > 0 ? a.x_stride : width;
  const int y_stride = a.y_stride > 0 ? a.y_stride : width;
  const gptr<const float> x = global(a.x) + std::int64_t{row} * x_stride + first;
  const gptr<const float> weight = global(a.weight);
  const gptr<float> y = global(a.y) + std::int64_t{i} * y_stride + first;
  const float scale = norm_scale(x, a.size, a.eps);
  for (int n = lane(); n < a.size; n += kWarpSize) {
    const float scaled = x[n] * scale;
    const float normed = scaled * weight[n];
    if (a.accumulate) {
      const float before = y[n];
      y[n] = numerics::fma(a.multiplier, normed, before);
    } else {
      y[n] = a.multiplier * normed;
    }
  }
}

}  // namespace FORGE_KERNELS
