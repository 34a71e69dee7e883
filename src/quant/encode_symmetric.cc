// Q8_0, Q4_0, Q3_K and Q6_K: codes on both sides of 0, one scale for each group.
#include <cmath>
#include <cstdint>

#include "encode.h"
#include "grid_fit.h"
#include "scaled.h"

namespace forge::quant {
namespace {

/// What a block of 16 groups of 16 numbers consists of.
struct Format {
  int scale_max;  ///< of scales, which are on both sides of 0
  CodeRange codes;
};

/// The scale next below or above step / d in magnitude that stores the group with less error.
int nearest_scale(Group x, float step, float d, const Format& format) {
  const int sign = step < 0.0F ? -1 : 1;
  const int below = whole_part(std::fabs(step), d, format.scale_max - 1);
  const auto error = [&](int scale) {
    return squared_error(x, {d * static_cast<float>(scale), 0.0F}, format.codes);
  };
  return error(sign * below) <= error(sign * (below + 1)) ? sign * below : sign * (below + 1);
}

/// Chooses d, the scales, and the codes, which count from the lowest.
numerics::F16 encode_groups(Numbers from, const Format& format, int (&scales)[16],
                            std::uint8_t (&codes)[256]) {
  const Scaled<256> scaled(from.x);
  const auto group = [&](int g) {
    return Group(scaled.x + 16 * g, 16, from.importance_from(16 * g));
  };
  float steps[16];
  for (int g = 0; g < 16; ++g) steps[g] = fit_symmetric(group(g), -format.codes.low).step;
  const numerics::F16 stored = storable(largest_magnitude(Group(steps)) /
                                        static_cast<float>(format.scale_max) * scaled.unit);
  const float d = scaled.in_units(stored);
  for (int g = 0; g < 16; ++g) {
    scales[g] = nearest_scale(group(g), steps[g], d, format);
    nearest_codes(group(g), {d * static_cast<float>(scales[g]), 0.0F}, format.codes,
                  codes + 16 * g);
  }
  return stored;
}

}  // namespace

void encode(Numbers from, BlockQ80& block) {
  const Group group(from.x, 32);
  block.d = storable(largest_magnitude(group) / 127.0F);
  std::uint8_t codes[32];
  nearest_codes(group, {to_float(block.d), 0.0F}, {-127.0F, 127.0F}, codes);
  for (int i = 0; i < 32; ++i) block.codes[i] = static_cast<std::int8_t>(codes[i] - 127);
}

void encode(Numbers from, BlockQ40& block) {
  const Scaled<32> scaled(from.x);
  const Group group(scaled.x, from.importance);
  block.d = storable(fit_symmetric(group, 8.0F).step * scaled.unit);
  std::uint8_t codes[32];
  nearest_codes(group, {scaled.in_units(block.d), 0.0F}, {-8.0F, 7.0F}, codes);
  for (int i = 0; i < 16; ++i) {
    block.codes[i] = static_cast<std::uint8_t>(codes[i] | codes[16 + i] << 4);
  }
}

void encode(Numbers from, BlockQ3K& block) {
  int scales[16];
  std::uint8_t codes[256];
  block.d = encode_groups(from, {31, {-4.0F, 3.0F}}, scales, codes);
  for (int g = 0; g < 8; ++g) {
    const int low = (scales[g] + 32) & 15;
    const int high = (scales[g + 8] + 32) & 15;
    block.scales[g] = static_cast<std::uint8_t>(low | high << 4);
  }
  for (int i = 0; i < 4; ++i) {
    int upper = 0;
    for (int j = 0; j < 4; ++j) upper |= (scales[4 * j + i] + 32) >> 4 << (2 * j);
    block.scales[8 + i] = static_cast<std::uint8_t>(upper);
  }
  pack_two_bits(codes, block.codes);
  for (int i = 0; i < 32; ++i) {
    int high = 0;
    for (int g = 0; g < 8; ++g) high |= codes[32 * g + i] >> 2 << g;
    block.high[i] = static_cast<std::uint8_t>(high);
  }
}

void encode(Numbers from, BlockQ6K& block) {
  int scales[16];
  std::uint8_t codes[256];
  block.d = encode_groups(from, {127, {-32.0F, 31.0F}}, scales, codes);
  for (int g = 0; g < 16; ++g) block.scales[g] = static_cast<std::int8_t>(scales[g]);
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
