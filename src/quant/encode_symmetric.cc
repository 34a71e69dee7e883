// Q8_0, Q4_0 and Q6_K: codes on both sides of 0, one scale for each group.
#include <cmath>
#include <cstdint>

#include "encode.h"
#include "grid_fit.h"
#include "scaled.h"

namespace forge::quant {
namespace {

constexpr CodeRange kSixBits = {-32.0F, 31.0F};

/// The scale next below or above step / d in magnitude that stores the group with less error.
int nearest_scale(Group x, float step, float d) {
  const int sign = step < 0.0F ? -1 : 1;
  const int below = whole_part(std::fabs(step), d, 126);
  const auto error = [&](int scale) {
    return squared_error(x, {d * static_cast<float>(scale), 0.0F}, kSixBits);
  };
  return error(sign * below) <= error(sign * (below + 1)) ? sign * below : sign * (below + 1);
}

}  // namespace

void encode(const float* x, BlockQ80& block) {
  const Group group(x, 32);
  block.d = storable(largest_magnitude(group) / 127.0F);
  std::uint8_t codes[32];
  nearest_codes(group, {to_float(block.d), 0.0F}, {-127.0F, 127.0F}, codes);
  for (int i = 0; i < 32; ++i) block.codes[i] = static_cast<std::int8_t>(codes[i] - 127);
}

void encode(const float* x, BlockQ40& block) {
  const Scaled<32> scaled(x);
  const Group group(scaled.x);
  block.d = storable(fit_symmetric(group, 8.0F).step * scaled.unit);
  std::uint8_t codes[32];
  nearest_codes(group, {scaled.in_units(block.d), 0.0F}, {-8.0F, 7.0F}, codes);
  for (int i = 0; i < 16; ++i) {
    block.codes[i] = static_cast<std::uint8_t>(codes[i] | codes[16 + i] << 4);
  }
}

void encode(const float* x, BlockQ6K& block) {
  const Scaled<256> scaled(x);
  const auto group = [&](int g) { return Group(scaled.x + 16 * g, 16); };
  float steps[16];
  for (int g = 0; g < 16; ++g) steps[g] = fit_symmetric(group(g), 32.0F).step;
  block.d = storable(largest_magnitude(steps) / 127.0F * scaled.unit);
  const float d = scaled.in_units(block.d);

  std::uint8_t codes[256];
  for (int g = 0; g < 16; ++g) {
    const int scale = nearest_scale(group(g), steps[g], d);
    block.scales[g] = static_cast<std::int8_t>(scale);
    nearest_codes(group(g), {d * static_cast<float>(scale), 0.0F}, kSixBits, codes + 16 * g);
  }
  for (int i = 0; i < 64; ++i) {
    const std::uint8_t* quad = codes + 128 * (i / 32) + i % 32;
    std::uint8_t* low = block.low + 64 * (i / 32) + i % 32;
    low[0] = static_cast<std::uint8_t>((quad[0] & 15) | (quad[64] & 15) << 4);
    low[32] = static_cast<std::uint8_t>((quad[32] & 15) | (quad[96] & 15) << 4);
    block.high[i] = static_cast<std::uint8_t>(quad[0] >> 4 | quad[32] >> 4 << 2 |
                                              quad[64] >> 4 << 4 | quad[96] >> 4 << 6);
  }
}

}  // namespace forge::quant
