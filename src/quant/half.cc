#include "forge/quant/half.h"

namespace forge::quant {
namespace {

constexpr std::uint32_t kInfinity = 0x7f800000u;

/// bits / 2^shift, rounded to nearest, ties to even. A carry runs into the exponent, as it should.
std::uint32_t shift_to_nearest(std::uint32_t bits, int shift) {
  const std::uint32_t below_half = (1u << (shift - 1)) - 1;
  return (bits + below_half + (bits >> shift & 1)) >> shift;
}

}  // namespace

BF16 to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const bool nan = (bits & ~0x80000000u) > kInfinity;
  return {static_cast<std::uint16_t>(nan ? bits >> 16 | 0x0040u : shift_to_nearest(bits, 16))};
}

F16 to_f16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t magnitude = bits & ~0x80000000u;
  std::uint32_t half = 0;
  if (magnitude > kInfinity) {
    half = 0x7e00u | (magnitude >> 13 & 0x01ffu);
  } else if (magnitude >= 0x477ff000u) {  // 65520, halfway between 65504 and the next power of two
    half = 0x7c00u;
  } else if (magnitude >= 0x38800000u) {  // 2^-14, the smallest normal
    half = shift_to_nearest(magnitude - (112u << 23), 13);
  } else {
    // A multiple of 2^-24. Next to 1/2 floats are that far apart, so the addition does the
    // rounding.
    const float sum = std::bit_cast<float>(magnitude) + 0.5F;
    half = std::bit_cast<std::uint32_t>(sum) - std::bit_cast<std::uint32_t>(0.5F);
  }
  return {static_cast<std::uint16_t>((bits >> 16 & 0x8000u) | half)};
}

}  // namespace forge::quant
