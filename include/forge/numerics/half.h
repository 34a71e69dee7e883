// The two 16-bit floating-point types, of weights and of KV, as integers and exactly.
//
//          sign  exponent  fraction
//   f16       1         5        10    IEEE 754 binary16: range 6e-8 .. 65504
//   bf16      1         8         7    the upper half of a float
//
// Widening is exact. Narrowing rounds to nearest, ties to even, overflows to infinity, keeps
// subnormals and signed zeros. A NaN stays a NaN: f16's conversions and to_bf16 make it quiet and
// keep its sign and the upper bits of its fraction. The results are those of the conversion
// instructions of x86, Arm and NVIDIA GPUs, except that these may give NaNs other bits.
//
// Pure, thread-safe.
#pragma once

#include <cstdint>

#include "forge/numerics/canonical.h"
#include "forge/numerics/host_device.h"

namespace forge::numerics {

/// A float that is stored in 16 bits. The bits alone: arithmetic happens in float.
struct F16 {
  std::uint16_t bits = 0;
  friend bool operator==(const F16&, const F16&) = default;
};
struct BF16 {
  std::uint16_t bits = 0;
  friend bool operator==(const BF16&, const BF16&) = default;
};
enum class HalfType : std::uint8_t { bf16, f16 };

FORGE_HOST_DEVICE inline float to_float(BF16 x) { return float_of(std::uint32_t{x.bits} << 16); }

/// Has no branch, so that loops over rows become vector code. A GPU has an instruction for it.
FORGE_HOST_DEVICE inline float to_float(F16 x) {
#ifdef __CUDA_ARCH__
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
  return wide;
#else
  const std::uint32_t magnitude = x.bits & 0x7fffu;
  const std::uint32_t subnormal = 0u - static_cast<std::uint32_t>(magnitude < 0x0400u);  // or 0
  const std::uint32_t special = 0u - static_cast<std::uint32_t>(magnitude >= 0x7c00u);   // or 0
  // The exponent's bias is 15 here and 127 there; that of infinity and NaN is all ones in both. A
  // subnormal has the leading 1 of exponent -14 put before its fraction, and subtracted again.
  const std::uint32_t bits =
      (magnitude << 13) + (112u << 23) + (special & 112u << 23) + (subnormal & 1u << 23);
  const float positive = float_of(bits) - float_of(subnormal & 113u << 23);
  return float_of(bits_of(positive) | std::uint32_t{x.bits & 0x8000u} << 16);
#endif
}

namespace detail {

/// bits / 2^shift, rounded to nearest, ties to even. A carry runs into the exponent, as it should.
FORGE_HOST_DEVICE inline std::uint32_t shift_to_nearest(std::uint32_t bits, int shift) {
  const std::uint32_t below_half = (1u << (shift - 1)) - 1;
  return (bits + below_half + (bits >> shift & 1)) >> shift;
}

}  // namespace detail

FORGE_HOST_DEVICE inline BF16 to_bf16(float x) {
  const std::uint32_t bits = bits_of(x);
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const std::uint32_t narrow = nan ? bits >> 16 | 0x0040u : detail::shift_to_nearest(bits, 16);
  return {static_cast<std::uint16_t>(narrow)};
}

FORGE_HOST_DEVICE inline F16 to_f16(float x) {
  const std::uint32_t bits = bits_of(x);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u | (magnitude >> 13 & 0x01ffu);
  } else if (magnitude >= 0x477ff000u) {  // 65520, halfway between 65504 and the next power of two
    half = 0x7c00u;
  } else if (magnitude >= 0x38800000u) {  // 2^-14, the smallest normal
    half = detail::shift_to_nearest(magnitude - (112u << 23), 13);
  } else {
    // A multiple of 2^-24. Next to 1/2 floats are that far apart, so the addition does the
    // rounding.
    const float sum = float_of(magnitude) + 0.5F;
    half = bits_of(sum) - bits_of(0.5F);
  }
  return {static_cast<std::uint16_t>((bits >> 16 & 0x8000u) | half)};
}

}  // namespace forge::numerics
