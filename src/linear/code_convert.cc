#include <algorithm>
#include <cmath>
#include <cstring>

#include "code_rows.h"
#include "panels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "code_convert.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "hwy/highway.h"

#ifndef FORGE_LINEAR_CODE_CONVERT_ONCE
#define FORGE_LINEAR_CODE_CONVERT_ONCE
namespace forge::linear::codes {

/// The largest magnitude of a code of an activation.
inline constexpr float kCodeMax = 127.0F;

/// Next to 2^23 + 2^22 floats are the whole numbers: adding this rounds a number of magnitude up to
/// 127 to nearest, ties to even, and leaves a in the lowest eight bits.
inline constexpr float kRoundToCode = 0x1.8p+23F;

/// What products need besides the codes, from the sums of those of inputs 0 .. 15 and 16 .. 31.
inline void set_sums(int first, int second, CodedGroup& group) {
  group.scaled_sum = group.scale * static_cast<float>(first + second);
  group.bias = -128 * (first + second);
  group.biases[0] = -128 * first;
  group.biases[1] = -128 * second;
}

}  // namespace forge::linear::codes
#endif

HWY_BEFORE_NAMESPACE();
namespace forge::linear::codes::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// code_group, whose order of operations on each number this has. Maxima and sums of whole numbers
/// below 2^24 are exact in any order.
HWY_INLINE void code_group_lanes(const float* x, CodedGroup& out) {
  const hn::CappedTag<float, 16> d;
  const hn::RebindToUnsigned<decltype(d)> bits;
  const hn::Rebind<std::uint8_t, decltype(d)> bytes;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(decltype(d)()));
  constexpr int kVectors = kGroup / kLanes;

  auto largest = hn::Abs(hn::LoadU(d, x));
  for (int v = 1; v < kVectors; ++v) {
    largest = hn::Max(largest, hn::Abs(hn::LoadU(d, x + v * kLanes)));
  }
  out.scale = hn::GetLane(hn::MaxOfLanes(d, largest)) / kCodeMax;
  if (out.scale == 0.0F) {
    out = {};
    return;
  }
  const auto scale = hn::Set(d, out.scale);
  hn::Vec<decltype(d)> sums[2] = {hn::Zero(d), hn::Zero(d)};  // of halves
  for (int v = 0; v < kVectors; ++v) {
    const auto quotient = hn::Div(hn::LoadU(d, x + v * kLanes), scale);
    const auto clamped = hn::Min(hn::Max(quotient, hn::Set(d, -kCodeMax)), hn::Set(d, kCodeMax));
    const auto rounded = hn::Add(clamped, hn::Set(d, kRoundToCode));
    auto& sum = sums[v * kLanes / 16];
    sum = hn::Add(sum, hn::Sub(rounded, hn::Set(d, kRoundToCode)));
    hn::StoreU(hn::TruncateTo(bytes, hn::BitCast(bits, rounded)), bytes,
               reinterpret_cast<std::uint8_t*>(out.codes) + v * kLanes);
  }
  set_sums(static_cast<int>(hn::GetLane(hn::SumOfLanes(d, sums[0]))),
           static_cast<int>(hn::GetLane(hn::SumOfLanes(d, sums[1]))), out);
}

/// Of one row: `groups` groups of x, `stride` apart in out. Inputs past the last are zeros.
void code_row_impl(const float* x, int inputs, const std::int32_t* order, CodedGroup* out,
                   std::ptrdiff_t stride) {
  for (int first = 0; first < inputs; first += kGroup, out += stride) {
    if (order == nullptr && first + kGroup <= inputs) {
      code_group_lanes(x + first, *out);
      continue;
    }
    HWY_ALIGN float group[kGroup] = {};
    const int count = std::min(kGroup, inputs - first);
    for (int i = 0; i < count; ++i) {
      group[i] = x[order == nullptr ? first + i : order[first + i]];
    }
    code_group_lanes(group, *out);
  }
}

}  // namespace forge::linear::codes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace forge::linear {

CodedGroup code_group(std::span<const float, codes::kGroup> x) {
  CodedGroup out;
  float largest = 0.0F;
  for (const float number : x) largest = std::max(largest, std::fabs(number));
  out.scale = largest / codes::kCodeMax;
  int sums[2] = {};  // of halves
  for (int i = 0; i < codes::kGroup; ++i) {
    int a = 0;
    if (out.scale != 0.0F) {
      const float clamped =
          std::clamp(x[static_cast<std::size_t>(i)] / out.scale, -codes::kCodeMax, codes::kCodeMax);
      a = static_cast<int>(clamped + codes::kRoundToCode - codes::kRoundToCode);
    }
    out.codes[i] = static_cast<std::int8_t>(a);
    sums[i / 16] += a;
  }
  codes::set_sums(sums[0], sums[1], out);
  return out;
}

namespace codes {

HWY_EXPORT(code_row_impl);

void prepare(const Activations& x, ProductScratch& scratch) {
  const std::size_t groups =
      static_cast<std::size_t>(x.rows) * static_cast<std::size_t>(group_count(x.inputs));
  if (scratch.groups.size() < groups) scratch.groups.resize(groups);
}

void convert(const Activations& x, int first_row, int end_row, ProductScratch& scratch) {
  const int groups = group_count(x.inputs);
  for (int row = first_row; row < end_row; ++row) {
    const int first = row - row % kRowBlock;
    CodedGroup* const out = scratch.groups.data() + block_begin(first, groups) + row % kRowBlock;
    HWY_DYNAMIC_DISPATCH(code_row_impl)
    (x.x + static_cast<std::ptrdiff_t>(row) * x.inputs, x.inputs,
     x.order.empty() ? nullptr : x.order.data(), out, block_rows(first, x.rows));
  }
}

}  // namespace codes
}  // namespace forge::linear
#endif  // HWY_ONCE
