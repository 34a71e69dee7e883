// Q4_K and Q5_K: eight groups of 32 numbers, each with a scale and an offset of its own.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "encode.h"
#include "grid_fit.h"
#include "scaled.h"

namespace forge::quant {
namespace {

using ScaledBlock = Scaled<256>;

/// The scales of a Q4_K or Q5_K block and the squared error that they lead to.
struct Scales {
  F16 d;
  F16 m;
  Grid unit;  ///< d and m in units of the block
  int scales[8];
  int offsets[8];
  float error;

  Grid grid(int g) const {
    return {unit.step * static_cast<float>(scales[g]),
            unit.offset * static_cast<float>(offsets[g])};
  }
};

Group group_of(const ScaledBlock& block, int g) { return {block.x + 32 * g, 32}; }

/// Scale and offset of group g become those next below or next above its own fit, whichever pair of
/// the four stores the group best. Returns: its squared error.
float choose_pair(Group x, Grid fit, CodeRange range, int g, Scales& scales) {
  const int scale = whole_part(fit.step, scales.unit.step, 62);
  const int offset = whole_part(fit.offset, scales.unit.offset, 62);
  float least = std::numeric_limits<float>::infinity();
  int best = 0;
  for (int pair = 0; pair < 4; ++pair) {
    scales.scales[g] = scale + pair / 2;
    scales.offsets[g] = offset + pair % 2;
    const float error = squared_error(x, scales.grid(g), range);
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
Scales round_to_scales(const ScaledBlock& block, const Grid (&fits)[8], Grid unit,
                       CodeRange range) {
  Scales scales = {storable(unit.step * block.unit), storable(unit.offset * block.unit)};
  scales.unit = {block.in_units(scales.d), block.in_units(scales.m)};
  scales.error = 0;
  for (int g = 0; g < 8; ++g) {
    scales.error += choose_pair(group_of(block, g), fits[g], range, g, scales);
  }
  return scales;
}

/// The d and m, in units of the block, that store it best with the codes it has: the least-squares
/// solution of x = d (s q) - m o. {} where that is not one solution with d > 0, m >= 0.
Grid refit(const ScaledBlock& block, const Scales& scales, CodeRange range) {
  double uu = 0;  // u = s q, v = o
  double uv = 0;
  double vv = 0;
  double ux = 0;
  double vx = 0;
  for (int g = 0; g < 8; ++g) {
    const CodeSums sums = code_sums(group_of(block, g), scales.grid(g), range);
    const double s = scales.scales[g];
    const double o = scales.offsets[g];
    uu += s * s * sums.qq;
    uv += s * o * sums.q;
    vv += o * o * 32;
    ux += s * sums.xq;
    vx += o * sum(group_of(block, g));
  }
  const double determinant = uu * vv - uv * uv;
  if (determinant <= 0) return {};
  const double d = (ux * vv - vx * uv) / determinant;
  const double m = (uv * ux - uu * vx) / determinant;
  if (d <= 0 || m < 0) return {};
  return {static_cast<float>(d), static_cast<float>(m)};
}

Scales choose_scales(const ScaledBlock& block, CodeRange range) {
  Grid fits[8];
  Grid largest;
  for (int g = 0; g < 8; ++g) {
    fits[g] = fit_affine(group_of(block, g), range.high);
    largest.step = std::max(largest.step, fits[g].step);
    largest.offset = std::max(largest.offset, fits[g].offset);
  }
  const Grid unit = {largest.step / 63.0F, largest.offset / 63.0F};
  const Scales first = round_to_scales(block, fits, unit, range);
  const Grid refitted = refit(block, first, range);
  if (refitted.step == 0.0F) return first;
  const Scales second = round_to_scales(block, fits, refitted, range);
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

/// Scales and codes, one a byte, of a Q4_K or Q5_K block.
template <class Block>
void encode_affine(const float* x, float top, Block& block, std::uint8_t (&codes)[256]) {
  const ScaledBlock scaled(x);
  const CodeRange range = {0.0F, top};
  const Scales scales = choose_scales(scaled, range);
  block.d = scales.d;
  block.m = scales.m;
  block.groups = pack(scales);
  for (int g = 0; g < 8; ++g) {
    nearest_codes(group_of(scaled, g), scales.grid(g), range, codes + 32 * g);
  }
}

/// The low nibbles of 256 codes, as Q4_K and Q5_K hold them.
void pack_nibbles(const std::uint8_t (&codes)[256], std::uint8_t (&packed)[128]) {
  for (int i = 0; i < 128; ++i) {
    const std::uint8_t* pair = codes + 64 * (i / 32) + i % 32;
    packed[i] = static_cast<std::uint8_t>((pair[0] & 15) | (pair[32] & 15) << 4);
  }
}

}  // namespace

void encode(const float* x, BlockQ4K& block) {
  std::uint8_t codes[256];
  encode_affine(x, 15.0F, block, codes);
  pack_nibbles(codes, block.codes);
}

void encode(const float* x, BlockQ5K& block) {
  std::uint8_t codes[256];
  encode_affine(x, 31.0F, block, codes);
  pack_nibbles(codes, block.codes);
  for (int i = 0; i < 32; ++i) {
    int high = 0;
    for (int g = 0; g < 8; ++g) high |= codes[32 * g + i] >> 4 << g;
    block.high[i] = static_cast<std::uint8_t>(high);
  }
}

}  // namespace forge::quant
