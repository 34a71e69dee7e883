// Errors of the canonical functions against the 64-bit mantissa long double of the C library,
// in units of the last place of the exact result. The bounds are those the headers state.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "forge/numerics/canonical.h"

namespace forge::numerics {
namespace {

static_assert(std::numeric_limits<long double>::digits >= 64,
              "the oracle must be far more precise than float");

double ulp_error(float got, long double exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  const long double ulp = std::ldexp(1.0L, std::max(exponent - 24, -149));
  return static_cast<double>(std::fabs((got - exact) / ulp));
}

/// Largest error of `function` over floats of [low, high], every `step`-th in order of bits.
template <class Function, class Exact>
double worst_error(float low, float high, std::uint32_t step, Function function, Exact exact) {
  double worst = 0.0;
  for (std::uint64_t bits = bits_of(low); bits <= bits_of(high); bits += step) {
    const float x = float_of(static_cast<std::uint32_t>(bits));
    worst = std::max(worst, ulp_error(function(x), exact(static_cast<long double>(x))));
  }
  return worst;
}

constexpr std::uint32_t kStep = 4093;  // prime, 260,000 floats between 2^-126 and 2^127

TEST(Accuracy, exp_is_within_0_8_ulp) {
  const auto exact = [](long double x) { return std::exp(x); };
  EXPECT_LT(worst_error(0x1p-30f, exp_constants::kMax, kStep / 4, exp, exact), 0.8);
  EXPECT_LT(worst_error(-0x1p-30f, exp_constants::kMin, kStep / 4, exp, exact), 0.8);
}

TEST(Accuracy, log_is_within_0_9_ulp) {
  const auto exact = [](long double x) { return std::log(x); };
  EXPECT_LT(worst_error(0x1p-149f, std::numeric_limits<float>::max(), kStep, log, exact), 0.9);
  EXPECT_LT(worst_error(0.5f, 2.0f, 61, log, exact), 0.9);
}

TEST(Accuracy, silu_is_within_2_5_ulp) {
  const auto exact = [](long double x) { return x / (1.0L + std::exp(-x)); };
  EXPECT_LT(worst_error(0x1p-30f, 100.0f, kStep / 4, silu, exact), 2.5);
  EXPECT_LT(worst_error(-0x1p-30f, -87.0f, kStep / 4, silu, exact), 2.5);
}

TEST(Accuracy, tanh_is_within_2_ulp) {
  const auto exact = [](long double x) { return std::tanh(x); };
  EXPECT_LT(worst_error(0x1p-126f, 100.0f, kStep, tanh, exact), 2);
  EXPECT_LT(worst_error(-0.5f, -1.0f, 61, tanh, exact), 2);
}

TEST(Accuracy, gelu_tanh_is_within_4_ulp_near_zero_and_2_to_the_minus_20_everywhere) {
  const auto exact = [](long double x) {
    const long double u = std::sqrt(2 / 3.14159265358979323846L) * (x + 0.044715L * x * x * x);
    return x / (1.0L + std::exp(-2 * u));
  };
  EXPECT_LT(worst_error(0x1p-60f, 1.0f, kStep, gelu_tanh, exact), 4);
  EXPECT_LT(worst_error(-0x1p-60f, -1.0f, kStep, gelu_tanh, exact), 4);
  for (int i = -2000; i <= 2000; ++i) {
    const float x = 0.013F * static_cast<float>(i);
    EXPECT_LE(std::abs(gelu_tanh(x) - exact(static_cast<long double>(x))), 0x1p-20L * std::abs(x));
  }
}

TEST(Accuracy, rsqrt_is_within_1_5_ulp) {
  const auto exact = [](long double x) { return 1.0L / std::sqrt(x); };
  EXPECT_LT(worst_error(0x1p-149f, std::numeric_limits<float>::max(), kStep, rsqrt, exact), 1.5);
}

TEST(Accuracy, sincos_is_correctly_rounded_up_to_ties) {
  double worst = 0.0;
  for (int i = 0; i < 200'000; ++i) {
    const double angle = (i - 100'000) * 11.73912345;
    const auto [sin, cos] = sincos(angle);
    worst = std::max(worst, ulp_error(sin, std::sin(static_cast<long double>(angle))));
    worst = std::max(worst, ulp_error(cos, std::cos(static_cast<long double>(angle))));
  }
  EXPECT_LT(worst, 0.51);
}

TEST(Accuracy, rotary_frequency_has_a_relative_error_below_two_to_the_minus_48) {
  double worst = 0.0;
  for (const int head_size : {2, 16, 64, 80, 128, 256}) {
    for (const double base : {2.0, 100.0, 10'000.0, 500'000.0, 1'000'000.0}) {
      for (int pair = 0; pair < head_size / 2; ++pair) {
        const long double exact =
            std::pow(static_cast<long double>(base), -2.0L * pair / head_size);
        const double error = std::fabs(
            static_cast<double>((rotary_frequency(base, pair, head_size) - exact) / exact));
        worst = std::max(worst, error);
      }
    }
  }
  EXPECT_LT(worst, 0x1p-48);
}

}  // namespace
}  // namespace forge::numerics
