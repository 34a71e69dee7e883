// What encoders of blocks share: scales that f16 can hold, and numbers of a size that floats can
// square.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "forge/numerics/half.h"
#include "grid_fit.h"

namespace forge::quant {

/// The f16 next to x; beyond the largest f16, the largest.
inline numerics::F16 nearest_f16(float x) {
  constexpr float kMax = 65504.0F;
  return numerics::to_f16(std::clamp(x, -kMax, kMax));
}

/// A scale as a block can hold it: nearest_f16, but below the normal numbers, where few bits are
/// left, it is rounded away from 0: a scale that is too large is made good by smaller codes, while
/// one that is too small would cut off the largest numbers.
inline numerics::F16 storable(float scale) {
  constexpr float kSmallestNormal = 0x1p-14F;
  numerics::F16 stored = nearest_f16(scale);
  const bool subnormal = std::fabs(scale) < kSmallestNormal;
  if (subnormal && std::fabs(to_float(stored)) < std::fabs(scale)) ++stored.bits;
  return stored;
}

/// The numbers of a block in units of the power of two of the largest: between -2 and 2, and exact
/// but for numbers that vanish beside it. A block of numbers that are all nearer to 0 than to any
/// other f16 is a block of zeros.
template <int kCount>
struct Scaled {
  explicit Scaled(const float* block) {
    const float largest = largest_magnitude({block, kCount});
    if (largest < 0x1p-25F) return;
    unit = std::bit_cast<float>(std::bit_cast<std::uint32_t>(largest) & 0x7f800000u);
    for (int i = 0; i < kCount; ++i) x[i] = block[i] / unit;
  }

  float in_units(numerics::F16 scale) const { return to_float(scale) / unit; }

  float unit = 1;
  float x[kCount] = {};
};

/// The whole part of value / scale, at most `top`; 0 where the scale is 0. value >= 0, scale >= 0.
inline int whole_part(float value, float scale, int top) {
  if (scale == 0.0F) return 0;
  return static_cast<int>(std::min(value / scale, static_cast<float>(top)));
}

}  // namespace forge::quant
