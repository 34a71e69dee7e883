// matrix_step: what one step of a tensor core adds to an accumulator, to the bit.
//
//   d = c + a[0] b[0] + a[1] b[1] + ... + a[15] b[15]        a, b: bf16 or f16      c, d: f32
//
// This is one output of the instruction mma.m16n8k16. It is no chain of roundings: a tensor core
// adds the products of a group and the accumulator at once, in fixed point.
//
//   1. Products are exact. The exponent of a product is the sum of its factors' exponents: its
//      significand lies in [1, 4) and is not normalised.
//   2. e is the largest exponent among those products, and the accumulator, that are not 0; it is
//      at least -133.
//   3. Each of them is cut to a multiple of 2^(e - F), towards zero.
//   4. Their sum is exact, and is cut to f32, towards zero.
//
//   model      generation                      groups of a step   F
//   mma-sm80   sm_80, sm_86, sm_89             two of 8           24
//   mma-sm90   sm_90, sm_100, sm_120           one of 16          25
//
// So the order of the products within a group changes nothing, the order of groups does: what is
// defined by a fold of steps, K ascending, has the same bits in tiles of every size.
//
// Source: Xie et al., MMA-Sim: bit-accurate reference model of tensor cores and matrix cores, 2025
// (arXiv:2511.10909), after Fasi et al., Numerical behavior of NVIDIA tensor cores, PeerJ Computer
// Science 7:e330, 2021. What 2. says of 0 and of the smallest exponent, and that a result of 0 is
// +0, MMA-Sim's code does not have: an H200 has it, and mma-sm80, which no GPU here has been
// compared with, is taken to have it too. tests/cuda compares, bench/results says with what.
//
// Pure, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "forge/numerics/half.h"

namespace forge::numerics {

/// Products of a step, K of mma.m16n8k16.
inline constexpr std::size_t kStepProducts = 16;

/// How a generation of tensor cores adds.
struct StepModel {
  std::string_view name;
  std::size_t group;  ///< products that are added at once: divides kStepProducts
  int fraction_bits;  ///< F
  friend bool operator==(const StepModel&, const StepModel&) = default;
};
inline constexpr StepModel kMmaSm80{"mma-sm80", 8, 24};
inline constexpr StepModel kMmaSm90{"mma-sm90", 16, 25};

/// Of the compute capability `major`. Requires: major >= 8.
constexpr const StepModel& step_model(int major) { return major < 9 ? kMmaSm80 : kMmaSm90; }

namespace detail {

/// value 2^unit. `exponent` is what it is aligned by: where the leading 1 of a normal number is.
struct Term {
  std::int64_t value;
  int unit;
  int exponent;
};

/// A number of which `bits` are the fraction and `exponent_bits` the exponent.
constexpr Term term_of(std::uint32_t number, int bits, int exponent_bits) {
  const int exponents = 1 << exponent_bits;
  const int biased = static_cast<int>(number >> bits) & (exponents - 1);
  const bool negative = (number >> (bits + exponent_bits)) != 0;
  const std::int64_t fraction = number & ((1u << bits) - 1);
  const std::int64_t magnitude = biased != 0 ? fraction | std::int64_t{1} << bits : fraction;
  const int exponent = (biased != 0 ? biased : 1) - (exponents / 2 - 1);  // also of subnormals
  return {negative ? -magnitude : magnitude, exponent - bits, exponent};
}
inline Term term_of(float x) { return term_of(bits_of(x), 23, 8); }
constexpr Term term_of(BF16 x) { return term_of(x.bits, 7, 8); }
constexpr Term term_of(F16 x) { return term_of(x.bits, 10, 5); }

/// x 2^shift, cut towards zero.
constexpr std::int64_t scaled_towards_zero(std::int64_t x, int shift) {
  if (x == 0) return 0;  // which may be far below or above what it is added to
  if (shift >= 0) return x * (std::int64_t{1} << shift);
  if (shift <= -63) return 0;
  return x < 0 ? -(-x >> -shift) : x >> -shift;
}

/// sum 2^exponent as f32, cut towards zero, +0 if nothing is left; infinite from 2^128 on.
inline float float_towards_zero(std::int64_t sum, int exponent) {
  if (sum == 0) return 0;
  const std::uint32_t sign = sum < 0 ? 0x80000000u : 0;
  const std::int64_t magnitude = sum < 0 ? -sum : sum;
  const int leading = 63 - __builtin_clzll(static_cast<std::uint64_t>(magnitude)) + exponent;
  if (leading > 127) return float_of(sign | 0x7f800000u);
  const int lowest = (leading < -126 ? -126 : leading) - 23;  // 2^lowest is f32's last bit
  const std::int64_t cut = scaled_towards_zero(magnitude, exponent - lowest);
  if (cut == 0) return 0;
  const std::uint32_t biased = leading < -126 ? 0 : static_cast<std::uint32_t>(leading + 127);
  return float_of(sign | biased << 23 | (static_cast<std::uint32_t>(cut) & 0x7fffffu));
}

inline bool is_finite(float x) { return (bits_of(x) & 0x7f800000u) != 0x7f800000u; }

inline constexpr int kSmallestExponent = -133;

}  // namespace detail

/// Factors of a step, taken apart once for all outputs that they go into: a row of A or of B.
struct StepRow {
  detail::Term terms[kStepProducts];
  float values[kStepProducts];
  bool finite;
};

/// Half: BF16 or F16.
template <class Half>
StepRow step_row(std::span<const Half, kStepProducts> factors) {
  StepRow row{};
  row.finite = true;
  for (std::size_t k = 0; k < kStepProducts; ++k) {
    row.terms[k] = detail::term_of(factors[k]);
    row.values[k] = to_float(factors[k]);
    row.finite = row.finite && detail::is_finite(row.values[k]);
  }
  return row;
}

namespace detail {

/// c and the products of the group that begins at `first`, added at once. Requires: all are finite.
inline float add_group(const StepModel& model, const StepRow& a, const StepRow& b,
                       std::size_t first, float c) {
  Term terms[kStepProducts + 1];
  for (std::size_t k = 0; k < model.group; ++k) {
    const Term& x = a.terms[first + k];
    const Term& y = b.terms[first + k];
    terms[k] = {x.value * y.value, x.unit + y.unit, x.exponent + y.exponent};
  }
  terms[model.group] = term_of(c);
  const std::span<const Term> all(terms, model.group + 1);
  int largest = kSmallestExponent;
  for (const Term& term : all) {
    if (term.value != 0 && term.exponent > largest) largest = term.exponent;
  }
  const int unit = largest - model.fraction_bits;
  std::int64_t sum = 0;
  for (const Term& term : all) sum += scaled_towards_zero(term.value, term.unit - unit);
  return float_towards_zero(sum, unit);
}

/// The infinity or the NaN that it becomes. Requires: not all are finite.
inline float add_infinities(const StepRow& a, const StepRow& b, float c) {
  double sum = c;  // products of finite factors are far from what a double can hold
  for (std::size_t k = 0; k < kStepProducts; ++k) {
    sum += static_cast<double>(a.values[k]) * static_cast<double>(b.values[k]);
  }
  return sum != sum ? float_of(0x7fffffffu) : static_cast<float>(sum);
}

}  // namespace detail

/// One output of a step: c + sum of a[k] b[k]. A sum of 0 is +0. With a NaN, an infinity times 0,
/// or infinities of both signs it is the NaN 0x7fffffff, whatever NaN that was.
inline float matrix_step(const StepModel& model, const StepRow& a, const StepRow& b, float c) {
  if (!a.finite || !b.finite || !detail::is_finite(c)) return detail::add_infinities(a, b, c);
  for (std::size_t k = 0; k < kStepProducts; k += model.group) {
    c = detail::add_group(model, a, b, k, c);
    if (!detail::is_finite(c)) break;  // the sum was too large, and stays it
  }
  return c;
}

}  // namespace forge::numerics
