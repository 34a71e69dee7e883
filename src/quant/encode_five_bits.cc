// Q5_0 and Q5_1: codes of five bits in blocks of 32.
#include <algorithm>
#include <cstdint>

#include "encode.h"
#include "grid_fit.h"
#include "scaled.h"

namespace forge::quant {
namespace {

template <class Block>
void pack_codes(const std::uint8_t (&codes)[32], Block& block) {
  for (int i = 0; i < 16; ++i) {
    block.codes[i] = static_cast<std::uint8_t>((codes[i] & 15) | (codes[16 + i] & 15) << 4);
  }
  for (int byte = 0; byte < 4; ++byte) {
    int high = 0;
    for (int bit = 0; bit < 8; ++bit) high |= codes[8 * byte + bit] >> 4 << bit;
    block.high[byte] = static_cast<std::uint8_t>(high);
  }
}

}  // namespace

void encode(const float* x, BlockQ50& block) {
  const Scaled<32> scaled(x);
  block.d = storable(fit_symmetric(scaled.x, 16.0F).step * scaled.unit);
  std::uint8_t codes[32];
  nearest_codes(scaled.x, {scaled.in_units(block.d), 0.0F}, {-16.0F, 15.0F}, codes);
  pack_codes(codes, block);
}

void encode(const float* x, BlockQ51& block) {
  const Scaled<32> scaled(x);
  // Seen from the largest, no number is above 0, and no grid that fits has an offset below 0.
  const float largest = *std::ranges::max_element(scaled.x);
  float below[32];
  std::ranges::transform(scaled.x, below, [&](float number) { return number - largest; });
  const Grid grid = fit_affine(below, 31.0F);
  block.d = storable(grid.step * scaled.unit);
  block.m = nearest_f16((largest - grid.offset) * scaled.unit);
  std::uint8_t codes[32];
  nearest_codes(scaled.x, {scaled.in_units(block.d), -scaled.in_units(block.m)}, {0.0F, 31.0F},
                codes);
  pack_codes(codes, block);
}

}  // namespace forge::quant
