// A norm that was taken apart, put together again: against RMSNorm in double, within bounds that
// come from the number of roundings on the way.
#include "forge/numerics/scaled_norm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "forge/numerics/tensor_product.h"
#include "numerics/test_values.h"

namespace forge::numerics {
namespace {

constexpr float kNormEps = 1e-5F;
constexpr double kRoundoff = 0x1p-24;  // half an ulp of 1, of floats
constexpr int kRowSizes[] = {8, 40, 256, 1032, 4096, 16384};

std::vector<float> squares_of(const std::vector<float>& x) {
  std::vector<float> squares;
  for (std::size_t k = 0; k < x.size(); k += kSquaresGroup) {
    squares.push_back(group_of_squares(&x[k]));
  }
  return squares;
}

float factor_of(const std::vector<float>& x) {
  const std::vector<float> squares = squares_of(x);
  const float sum = sum_reference(squares.data(), static_cast<int>(squares.size()));
  return scaled_norm_factor(sum, static_cast<int>(x.size()), kNormEps);
}

double exact_factor(const std::vector<float>& x) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  return 1 / std::sqrt(sum / static_cast<double>(x.size()) + kNormEps);
}

/// The relative error of s that scaled_norm.h states.
double factor_error(std::size_t size) {
  return (std::ceil(static_cast<double>(size) / 256) / 2 + 8) * kRoundoff;
}

/// A type of 16 bits: what its rounding errs by, of a number and of one that is too small for that.
template <class Half>
struct Rounding;
template <>
struct Rounding<BF16> {
  static constexpr double kRelative = 0x1p-8;
  static constexpr double kAbsolute = 0x1p-134;
};
template <>
struct Rounding<F16> {
  static constexpr double kRelative = 0x1p-11;
  static constexpr double kAbsolute = 0x1p-25;
};

template <class Half>
class ScaledNorm : public testing::Test {};
using HalfTypes = testing::Types<BF16, F16>;
TYPED_TEST_SUITE(ScaledNorm, HalfTypes);

TEST(ScaledNormFactor, squares_of_a_group_err_by_four_roundings) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto x = random_values(kSquaresGroup, seed, 5.0F);
    double exact = 0;
    for (const double v : x) exact += v * v;
    EXPECT_NEAR(group_of_squares(x.data()), exact, 4 * kRoundoff * exact) << seed;
  }
}

TEST(ScaledNormFactor, is_that_of_rms_norm_within_the_stated_bound) {
  for (const int size : kRowSizes) {
    for (const float range : {1e-3F, 1.0F, 300.0F}) {
      const auto x = random_values(size, static_cast<std::uint64_t>(size), range);
      const double exact = exact_factor(x);
      EXPECT_NEAR(factor_of(x), exact, factor_error(x.size()) * exact) << size << " " << range;
    }
  }
}

TYPED_TEST(ScaledNorm, rows_are_those_of_rms_norm_but_for_one_rounding_to_16_bits) {
  using Error = Rounding<TypeParam>;
  for (const int size : kRowSizes) {
    SCOPED_TRACE(size);
    const auto seed = static_cast<std::uint64_t>(size);
    const auto x = random_values(size, seed, 30.0F);
    const auto weight = random_values(size, seed + 1, 2.0F);
    const float s = factor_of(x);
    const double exact_s = exact_factor(x);
    for (std::size_t k = 0; k < x.size(); ++k) {
      const float y = s * widened(half_of<TypeParam>(x[k] * weight[k]));
      const double scaled = double{x[k]} * weight[k];
      const double rounding = std::max(Error::kRelative * std::fabs(scaled), Error::kAbsolute);
      // s, and the products x w and s h, have the precision of floats.
      const double others = (factor_error(x.size()) + 2 * kRoundoff) * std::fabs(scaled);
      ASSERT_NEAR(y, scaled * exact_s, (rounding + others) * exact_s) << k;
    }
  }
}

TYPED_TEST(ScaledNorm, a_row_of_zeros_stays_one) {
  const std::vector<float> zeros(64);
  for (const float square : squares_of(zeros)) EXPECT_EQ(bits_of(square), 0U);
  const float s = factor_of(zeros);
  EXPECT_NEAR(s, 1 / std::sqrt(double{kNormEps}), factor_error(64) / std::sqrt(double{kNormEps}));
  EXPECT_EQ(s * widened(half_of<TypeParam>(0.0F * 3)), 0.0F);
}

TEST(ScaledNormRows, beyond_the_largest_f16_are_that) {
  for (const float x : {65504.0F, 65520.0F, 1e6F, std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(widened(half_of<F16>(x)), 65504.0F) << x;
    EXPECT_EQ(widened(half_of<F16>(-x)), -65504.0F) << x;
  }
  EXPECT_EQ(widened(half_of<BF16>(65536.0F)), 65536.0F) << "bf16 reaches as far as floats";
}

}  // namespace
}  // namespace forge::numerics
