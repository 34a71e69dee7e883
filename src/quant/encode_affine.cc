// Q2_K, Q4_K and Q5_K: groups of 16 or 32 numbers, each with a scale and an offset of its own.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "encode.h"
#include "grid_fit.h"
#include "scaled.h"

namespace forge::quant {
namespace {

using ScaledBlock = Scaled<256>;

/// What a block consists of.
struct Format {
  int groups;
  int group_size;
  int scale_max;  ///< of scales and offsets, which are 0 and more
  CodeRange codes;

  const float* importance = nullptr;  ///< of the block's numbers, or null

  Group group(const ScaledBlock& block, int g) const {
    const int first = group_size * g;
    return {block.x + first, static_cast<std::size_t>(group_size),
            importance == nullptr ? nullptr : importance + first};
  }
};

/// The scales of a block and the squared error that they lead to.
struct Scales {
  numerics::F16 d;
  numerics::F16 m;
  Grid unit;  ///< d and m in units of the block
  int scales[16];
  int offsets[16];
  float error;

  Grid grid(int g) const {
    return {unit.step * static_cast<float>(scales[g]),
            unit.offset * static_cast<float>(offsets[g])};
  }
};

/// Scale and offset of group g become those next below or next above its own fit, whichever pair of
/// the four stores the group best. Returns: its squared error.
float choose_pair(Group x, Grid fit, const Format& format, int g, Scales& scales) {
  const int scale = whole_part(fit.step, scales.unit.step, format.scale_max - 1);
  const int offset = whole_part(fit.offset, scales.unit.offset, format.scale_max - 1);
  float least = std::numeric_limits<float>::infinity();
  int best = 0;
  for (int pair = 0; pair < 4; ++pair) {
    scales.scales[g] = scale + pair / 2;
    scales.offsets[g] = offset + pair % 2;
    const float error = squared_error(x, scales.grid(g), format.codes);
    if (error < least) {
      least = error;
      best = pair;
    }
  }
  scales.scales[g] = scale + best / 2;
  scales.offsets[g] = offset + best % 2;
  return least;
}

/// Scales for a d and an m as near to those of `unit`, in units of the block, as f16 has them.
Scales round_to_scales(const ScaledBlock& block, const Grid (&fits)[16], Grid unit,
                       const Format& format) {
  Scales scales = {storable(unit.step * block.unit), storable(unit.offset * block.unit)};
  scales.unit = {block.in_units(scales.d), block.in_units(scales.m)};
  scales.error = 0;
  for (int g = 0; g < format.groups; ++g) {
    scales.error += choose_pair(format.group(block, g), fits[g], format, g, scales);
  }
  return scales;
}

/// The d and m, in units of the block, that store it best with the codes it has: the least-squares
/// solution of x = d (s q) - m o. {} where that is not one solution with d > 0, m >= 0.
Grid refit(const ScaledBlock& block, const Scales& scales, const Format& format) {
  double uu = 0;  // u = s q, v = o
  double uv = 0;
  double vv = 0;
  double ux = 0;
  double vx = 0;
  for (int g = 0; g < format.groups; ++g) {
    const Group group = format.group(block, g);
    const CodeSums sums = code_sums(group, scales.grid(g), format.codes);
    const double s = scales.scales[g];
    const double o = scales.offsets[g];
    uu += s * s * sums.qq;
    uv += s * o * sums.q;
    vv += o * o * sum_of_importance(group);
    ux += s * sums.xq;
    vx += o * sum(group);
  }
  const double determinant = uu * vv - uv * uv;
  if (determinant <= 0) return {};
  const double d = (ux * vv - vx * uv) / determinant;
  const double m = (uv * ux - uu * vx) / determinant;
  if (d <= 0 || m < 0) return {};
  return {static_cast<float>(d), static_cast<float>(m)};
}

Scales choose_scales(const ScaledBlock& block, const Format& format) {
  Grid fits[16];
  Grid largest;
  for (int g = 0; g < format.groups; ++g) {
    fits[g] = fit_affine(format.group(block, g), format.codes.high);
    largest.step = std::max(largest.step, fits[g].step);
    largest.offset = std::max(largest.offset, fits[g].offset);
  }
  const auto parts = static_cast<float>(format.scale_max);
  const Grid unit = {largest.step / parts, largest.offset / parts};
  const Scales first = round_to_scales(block, fits, unit, format);
  const Grid refitted = refit(block, first, format);
  if (refitted.step == 0.0F) return first;
  const Scales second = round_to_scales(block, fits, refitted, format);
  return second.error < first.error ? second : first;
}

GroupScales pack(const Scales& scales) {
  GroupScales packed{};
  for (int g = 0; g < 4; ++g) {
    const int s = scales.scales[g + 4];
    const int o = scales.offsets[g + 4];
    packed.bytes[g] = static_cast<std::uint8_t>(scales.scales[g] | s >> 4 << 6);
    packed.bytes[g + 4] = static_cast<std::uint8_t>(scales.offsets[g] | o >> 4 << 6);
    packed.bytes[g + 8] = static_cast<std::uint8_t>((s & 15) | (o & 15) << 4);
  }
  return packed;
}

/// d and m of a block, and its codes, one a byte. Returns: its scales.
template <class Block>
Scales encode_affine(const float* x, const Format& format, Block& block,
                     std::uint8_t (&codes)[256]) {
  const ScaledBlock scaled(x);
  const Scales scales = choose_scales(scaled, format);
  block.d = scales.d;
  block.m = scales.m;
  for (int g = 0; g < format.groups; ++g) {
    nearest_codes(format.group(scaled, g), scales.grid(g), format.codes,
                  codes + format.group_size * g);
  }
  return scales;
}

/// The low nibbles of 256 codes, as Q4_K and Q5_K hold them.
void pack_nibbles(const std::uint8_t (&codes)[256], std::uint8_t (&packed)[128]) {
  for (int i = 0; i < 128; ++i) {
    const std::uint8_t* pair = codes + 64 * (i / 32) + i % 32;
    packed[i] = static_cast<std::uint8_t>((pair[0] & 15) | (pair[32] & 15) << 4);
  }
}

}  // namespace

void encode(Numbers from, BlockQ2K& block) {
  std::uint8_t codes[256];
  const Scales scales =
      encode_affine(from.x, {16, 16, 15, {0.0F, 3.0F}, from.importance}, block, codes);
  for (int g = 0; g < 16; ++g) {
    block.scales[g] = static_cast<std::uint8_t>(scales.scales[g] | scales.offsets[g] << 4);
  }
  pack_two_bits(codes, block.codes);
}

void encode(Numbers from, BlockQ4K& block) {
  std::uint8_t codes[256];
  block.groups =
      pack(encode_affine(from.x, {8, 32, 63, {0.0F, 15.0F}, from.importance}, block, codes));
  pack_nibbles(codes, block.codes);
}

void encode(Numbers from, BlockQ5K& block) {
  std::uint8_t codes[256];
  block.groups =
      pack(encode_affine(from.x, {8, 32, 63, {0.0F, 31.0F}, from.importance}, block, codes));
  pack_nibbles(codes, block.codes);
  for (int i = 0; i < 32; ++i) {
    int high = 0;
    for (int g = 0; g < 8; ++g) high |= codes[32 * g + i] >> 4 << g;
    block.high[i] = static_cast<std::uint8_t>(high);
  }
}

}  // namespace forge::quant
