// The two 16-bit floating-point types of checkpoints, as integers and exactly.
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

#include <bit>
#include <cstdint>

namespace forge::quant {

/// A float that is stored in 16 bits. The bits alone: arithmetic happens in float.
struct F16 {
  std::uint16_t bits = 0;
  friend bool operator==(const F16&, const F16&) = default;
};
struct BF16 {
  std::uint16_t bits = 0;
  friend bool operator==(const BF16&, const BF16&) = default;
};

inline float to_float(BF16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}

/// Has no branch, so that loops over rows become vector code.
inline float to_float(F16 x) {
  const std::uint32_t magnitude = x.bits & 0x7fffu;
  const std::uint32_t subnormal = 0u - static_cast<std::uint32_t>(magnitude < 0x0400u);  // or 0
  const std::uint32_t special = 0u - static_cast<std::uint32_t>(magnitude >= 0x7c00u);   // or 0
  // The exponent's bias is 15 here and 127 there; that of infinity and NaN is all ones in both. A
  // subnormal has the leading 1 of exponent -14 put before its fraction, and subtracted again.
  const std::uint32_t bits =
      (magnitude << 13) + (112u << 23) + (special & 112u << 23) + (subnormal & 1u << 23);
  const float positive = std::bit_cast<float>(bits) - std::bit_cast<float>(subnormal & 113u << 23);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(positive) |
                              static_cast<std::uint32_t>(x.bits & 0x8000u) << 16);
}

BF16 to_bf16(float x);
F16 to_f16(float x);

}  // namespace forge::quant
