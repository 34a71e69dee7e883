// E4M3, the 8-bit floating-point type of checkpoints, as integers and exactly.
//
//          sign  exponent  fraction
//   e4m3      1         4         3    range 2^-9 .. 448; no infinity; 0x7f and 0xff are NaNs
//
// Every one is a float, an f16 and a bf16, too. Files give it scales of its own for rows or blocks
// (linear/stored_linear.h). Sources: Micikevicius et al., "FP8 Formats for Deep Learning",
// arXiv:2209.05433; OCP 8-bit Floating Point Specification (OFP8) 1.0.
//
// Pure, thread-safe.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace forge::quant {

struct E4M3 {
  std::uint8_t bits = 0;
};

inline float to_float(E4M3 x) {
  const std::uint32_t magnitude = x.bits & 0x7fU;
  const std::uint32_t sign = std::uint32_t{x.bits & 0x80U} << 24;
  if (magnitude == 0x7f) return std::numeric_limits<float>::quiet_NaN();
  constexpr float kSubnormalUnit = 0x1p-9F;
  const float positive = magnitude < 8
                             ? static_cast<float>(magnitude) * kSubnormalUnit
                             : std::bit_cast<float>((magnitude << 20) + ((127U - 7U) << 23));
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(positive) | sign);
}

}  // namespace forge::quant
