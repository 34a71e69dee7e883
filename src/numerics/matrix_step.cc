#include "forge/numerics/matrix_step.h"

namespace forge::numerics {
namespace {

using detail::Term;

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
Term term_of(float x) { return term_of(bits_of(x), 23, 8); }
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
float float_towards_zero(std::int64_t sum, int exponent) {
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

bool is_finite(float x) { return (bits_of(x) & 0x7f800000u) != 0x7f800000u; }

constexpr int kSmallestExponent = -133;

/// c and the products of the group that begins at `first`, added at once. Requires: all are finite.
float add_group(const StepModel& model, const StepRow& a, const StepRow& b, std::size_t first,
                float c) {
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
float add_infinities(const StepRow& a, const StepRow& b, float c) {
  double sum = c;  // products of finite factors are far from what a double can hold
  for (std::size_t k = 0; k < kStepProducts; ++k) {
    sum += static_cast<double>(a.values[k]) * static_cast<double>(b.values[k]);
  }
  return sum != sum ? float_of(0x7fffffffu) : static_cast<float>(sum);
}

}  // namespace

template <class Half>
StepRow step_row(std::span<const Half, kStepProducts> factors) {
  StepRow row{};
  row.finite = true;
  for (std::size_t k = 0; k < kStepProducts; ++k) {
    row.terms[k] = term_of(factors[k]);
    row.values[k] = to_float(factors[k]);
    row.finite = row.finite && is_finite(row.values[k]);
  }
  return row;
}

template StepRow step_row(std::span<const BF16, kStepProducts> factors);
template StepRow step_row(std::span<const F16, kStepProducts> factors);

float matrix_step(const StepModel& model, const StepRow& a, const StepRow& b, float c) {
  if (!a.finite || !b.finite || !is_finite(c)) return add_infinities(a, b, c);
  for (std::size_t k = 0; k < kStepProducts; k += model.group) {
    c = add_group(model, a, b, k, c);
    if (!is_finite(c)) break;  // the sum was too large, and stays it
  }
  return c;
}

}  // namespace forge::numerics
