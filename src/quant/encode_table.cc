// IQ4_NL, IQ4_XS and MXFP4: codes that stand for the numbers of a table.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "encode.h"
#include "grid_fit.h"
#include "scaled.h"

namespace forge::quant {
namespace {

/// The code of IQ4 whose value is nearest to t, the lower of two: as many values are below it as
/// there are middles between neighbours below t.
int iq4_code(float t) {
  int code = 0;
  for (int i = 0; i < 15; ++i) {
    const auto middle = 0.5F * static_cast<float>(kIq4Values[i] + kIq4Values[i + 1]);
    code += static_cast<int>(t > middle);
  }
  return code;
}

float inverse_of(float step) { return step == 0.0F ? 0.0F : 1.0F / step; }

float squared_error_of_iq4(Group x, float step) {
  const float inverse = inverse_of(step);
  float sum = 0.0F;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float error = x[i] - step * static_cast<float>(kIq4Values[iq4_code(x[i] * inverse)]);
    sum += x.importance(i) * error * error;
  }
  return sum;
}

/// The step that stores the group best, of trials that put its number of largest magnitude at and
/// about either end of the table, each fitted to the codes that it leads to by least squares.
float fit_iq4(Group x) {
  constexpr float kTrials[] = {-143, -135, -127, -119, 105, 113, 121, 129};
  float extreme = 0.0F;
  for (const float number : x) {
    if (std::fabs(number) > std::fabs(extreme)) extreme = number;
  }
  if (std::fabs(extreme) < 0x1p-60F) return 0.0F;
  float best = 0.0F;
  float gain = 0.0F;  // by how much the squared error is below that of zeros
  for (const float trial : kTrials) {
    const float inverse = trial / extreme;
    float xq = 0.0F;
    float qq = 0.0F;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto q = static_cast<float>(kIq4Values[iq4_code(x[i] * inverse)]);
      const float weighted = x.importance(i) * q;
      xq += x[i] * weighted;
      qq += q * weighted;
    }
    const float step = xq / qq;
    if (step * xq > gain) {
      gain = step * xq;
      best = step;
    }
  }
  return best;
}

/// The one of `steps` with the least squared error, the first of several. Rounding to a scale that
/// a block can hold may make another one the best: the table has neither 0 nor the negative of each
/// of its numbers.
template <std::size_t kCount>
float best_iq4(Group x, const float (&steps)[kCount]) {
  float best = steps[0];
  float least = squared_error_of_iq4(x, best);
  for (const float step : steps) {
    const float error = squared_error_of_iq4(x, step);
    if (error < least) {
      least = error;
      best = step;
    }
  }
  return best;
}

/// 32 codes in 16 bytes.
template <class Code>
void pack_pairs(const Code& code, std::uint8_t* packed) {
  for (int i = 0; i < 16; ++i) packed[i] = static_cast<std::uint8_t>(code(i) | code(16 + i) << 4);
}

void pack_iq4(const float* x, float step, std::uint8_t* packed) {
  const float inverse = inverse_of(step);
  pack_pairs([&](int i) { return iq4_code(x[i] * inverse); }, packed);
}

/// The code of FP4 whose value is nearest to t, the one nearer to 0 of two.
int fp4_code(float t) {
  int code = 0;
  for (int i = 0; i < 7; ++i) {
    const auto middle = 0.5F * static_cast<float>(kFp4Values[i] + kFp4Values[i + 1]);
    code += static_cast<int>(std::fabs(t) > middle);
  }
  return code > 0 && t < 0.0F ? code + 8 : code;
}

/// The largest scale with which all numbers of a block are finite.
constexpr int kE8M0Max = 252;

/// Squared error with scale e, in units of `unit`.
float squared_error_of_fp4(Numbers from, int e, float unit) {
  const float half = half_of({static_cast<std::uint8_t>(e)});
  float sum = 0.0F;
  for (int i = 0; i < 32; ++i) {
    const float t = from.x[i] / half;
    const float error = (t - static_cast<float>(kFp4Values[fp4_code(t)])) * (half / unit);
    sum += (from.importance == nullptr ? 1.0F : from.importance[i]) * error * error;
  }
  return sum;
}

}  // namespace

void encode(Numbers from, BlockIQ4NL& block) {
  const Scaled<32> scaled(from.x);
  const Group group(scaled.x, from.importance);
  const numerics::F16 fitted = storable(fit_iq4(group) * scaled.unit);
  const float d = scaled.in_units(fitted);
  const float step = best_iq4(group, {d, -d, 0.0F});
  block.d = numerics::to_f16(step * scaled.unit);
  pack_iq4(scaled.x, step, block.codes);
}

void encode(Numbers from, BlockIQ4XS& block) {
  const Scaled<256> scaled(from.x);
  const auto group = [&](int g) {
    return Group(scaled.x + std::ptrdiff_t{32} * g, 32, from.importance_from(32 * g));
  };
  float steps[8];
  for (int g = 0; g < 8; ++g) steps[g] = fit_iq4(group(g));
  block = {};
  block.d = storable(largest_magnitude(Group(steps)) / 31.0F * scaled.unit);
  const float d = scaled.in_units(block.d);
  for (int g = 0; g < 8; ++g) {
    const auto below = static_cast<float>(whole_part(std::fabs(steps[g]), d, 30));
    const float near = steps[g] < 0.0F ? -below : below;
    const float far = steps[g] < 0.0F ? -below - 1.0F : below + 1.0F;
    float scales[] = {near, far, -near, -far, 0.0F};
    for (float& scale : scales) scale *= d;
    const float step = best_iq4(group(g), scales);
    const int scale = d == 0.0F ? 0 : static_cast<int>(step / d);
    const int stored = scale + 32;
    block.scales_low[g / 2] |= static_cast<std::uint8_t>((stored & 15) << (4 * (g % 2)));
    block.scales_high[g / 4] |= static_cast<std::uint8_t>(stored >> 4 << (2 * (g % 4)));
    pack_iq4(group(g).data(), step, block.codes + std::ptrdiff_t{16} * g);
  }
}

void encode(Numbers from, BlockMXFP4& block) {
  block = {};
  const float largest = largest_magnitude({from.x, 32});
  if (largest == 0.0F) return;
  // The scale of the specification, with which the largest number is 4 or more; and twice that,
  // where nothing is above 6.
  const int first = std::clamp(std::ilogb(largest) - 2 + 127, 0, kE8M0Max);
  const int second = std::min(first + 1, kE8M0Max);
  const float unit = half_of({static_cast<std::uint8_t>(first)});
  const bool is_first =
      squared_error_of_fp4(from, first, unit) <= squared_error_of_fp4(from, second, unit);
  block.e = {static_cast<std::uint8_t>(is_first ? first : second)};
  const float half = half_of(block.e);
  pack_pairs([&](int i) { return fp4_code(from.x[i] / half); }, block.codes);
}

}  // namespace forge::quant
