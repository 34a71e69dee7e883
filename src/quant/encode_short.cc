// Q4_1, Q5_0 and Q5_1: blocks of 32 numbers, whose fifth bits, if any, lie apart.
#include <algorithm>
#include <cstdint>

#include "encode.h"
#include "grid_fit.h"
#include "scaled.h"

namespace forge::quant {
namespace {

void pack_fifth_bits(const std::uint8_t (&codes)[32], std::uint8_t (&high)[4]) {
  for (int byte = 0; byte < 4; ++byte) {
    int bits = 0;
    for (int bit = 0; bit < 8; ++bit) bits |= codes[8 * byte + bit] >> 4 << bit;
    high[byte] = static_cast<std::uint8_t>(bits);
  }
}

template <class Block>
void pack_codes(const std::uint8_t (&codes)[32], Block& block) {
  for (int i = 0; i < 16; ++i) {
    block.codes[i] = static_cast<std::uint8_t>((codes[i] & 15) | (codes[16 + i] & 15) << 4);
  }
  if constexpr (requires { block.high; }) pack_fifth_bits(codes, block.high);
}

/// Codes 0 .. top above the smallest number.
template <class Block>
void encode_above_smallest(Numbers from, float top, Block& block) {
  const Scaled<32> scaled(from.x);
  // Seen from the largest, no number is above 0, and no grid that fits has an offset below 0.
  const float largest = *std::ranges::max_element(scaled.x);
  float below[32];
  std::ranges::transform(scaled.x, below, [&](float number) { return number - largest; });
  const Grid grid = fit_affine({below, from.importance}, top);
  block.d = storable(grid.step * scaled.unit);
  block.m = nearest_f16((largest - grid.offset) * scaled.unit);
  std::uint8_t codes[32];
  nearest_codes(Group(scaled.x), {scaled.in_units(block.d), -scaled.in_units(block.m)}, {0.0F, top},
                codes);
  pack_codes(codes, block);
}

}  // namespace

void encode(Numbers from, BlockQ41& block) { encode_above_smallest(from, 15.0F, block); }

void encode(Numbers from, BlockQ51& block) { encode_above_smallest(from, 31.0F, block); }

void encode(Numbers from, BlockQ50& block) {
  const Scaled<32> scaled(from.x);
  block.d = storable(fit_symmetric({scaled.x, from.importance}, 16.0F).step * scaled.unit);
  std::uint8_t codes[32];
  nearest_codes(Group(scaled.x), {scaled.in_units(block.d), 0.0F}, {-16.0F, 15.0F}, codes);
  pack_codes(codes, block);
}

}  // namespace forge::quant
