// exp2: powers of two, for the softmax of fast attention (span_attention.h).
//
// A GPU has an instruction for 2^x, whose bits no document gives. This takes eight instructions
// whose rounding is defined, so that the bits are the same everywhere: of the argument, the
// polynomial, and the power of two that it is multiplied with.
//
// Pure, thread-safe.
#pragma once

#include "forge/numerics/canonical.h"

namespace forge::numerics {

/// 2^f is approximated on |f| <= 1/2 by 1 + f (c1 + c2 f + ... + c5 f^4), a minimax polynomial of
/// the relative error.
namespace exp2_constants {
inline constexpr float kMin = -126.0f;       // the lowest x with 2^x normal
inline constexpr float kRound = 0x1.8p+23f;  // adding it rounds to an integer, in the low bits
inline constexpr float kC1 = 0x1.62e39ep-1f;
inline constexpr float kC2 = 0x1.ebfa4ep-3f;
inline constexpr float kC3 = 0x1.c74322p-5f;
inline constexpr float kC4 = 0x1.3cbea8p-7f;
inline constexpr float kC5 = 0x1.23a608p-10f;
}  // namespace exp2_constants

/// 2^x for x <= 127: relative error below 5e-7, exact for integers. Below -126, -inf included, it
/// is 0: what would be subnormal is flushed by definition, as exp does. NaN gives NaN.
FORGE_HOST_DEVICE inline float exp2(float x) {
  using namespace exp2_constants;
  const float shifted = x + kRound;
  const float f = x - (shifted - kRound);
  float p = fma(f, kC5, kC4);
  p = fma(f, p, kC3);
  p = fma(f, p, kC2);
  p = fma(f, p, kC1);
  p = fma(f, p, 1.0f);
  const float power = float_of((bits_of(shifted) << 23) + bits_of(1.0f));
  return x < kMin ? 0.0f : p * power;
}

}  // namespace forge::numerics
