// Weights of 16 bits as floats, and a float rounded to 16 bits: as numerics/half.h, of numbers
// alone.
//
//          sign  exponent  fraction
//   f16       1         5        10    its exponent has another bias than a float's
//   bf16      1         8         7    the upper half of a float
#pragma once

#include "forge/numerics/canonical.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {

/// Exact. The exponent's bias is 15 in an f16 and 127 in a float: a product makes up for it, of
/// subnormals, too. Requires: a finite number.
FORGE_DEVICE float widened_f16(std::uint32_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  return numerics::float_of(sign | (bits & 0x7fffu) << 13) * 0x1p112f;
}

/// Widens exactly.
FORGE_DEVICE float widened_bf16(std::uint32_t bits) { return numerics::float_of(bits << 16); }

/// Rounds to the nearest bf16, ties to even. Requires: not NaN.
FORGE_DEVICE float rounded_to_bf16(float x) {
  const std::uint32_t bits = numerics::bits_of(x);
  return numerics::float_of((bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u);
}

}  // namespace FORGE_KERNELS
