#include "forge/numerics/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace forge::numerics {
namespace {

constexpr float kInfiniteFloat = std::numeric_limits<float>::infinity();

/// The finite numbers of a format, by the definition of IEEE 754, in doubles, which hold them all.
struct Format {
  int exponent_bits;
  int fraction_bits;

  std::uint32_t infinity() const { return ((1u << exponent_bits) - 1) << fraction_bits; }

  double value(std::uint32_t positive) const {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const auto exponent = static_cast<int>(positive >> fraction_bits);
    const double fraction = positive & ((1u << fraction_bits) - 1);
    if (exponent == 0) return std::ldexp(fraction, 1 - bias - fraction_bits);
    return std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  }

  /// The bits of the number nearest to x, the even ones of two; infinity stands where the next
  /// power of two would. Found by bisection: positive numbers are in the order of their bits.
  std::uint32_t nearest(float x) const {
    const double magnitude = std::fabs(static_cast<double>(x));
    std::uint32_t below = 0;
    std::uint32_t above = infinity();
    if (magnitude >= value(above)) {
      below = above;
    }
    while (above - below > 1) {
      const std::uint32_t middle = (below + above) / 2;
      (value(middle) <= magnitude ? below : above) = middle;
    }
    const double to_below = magnitude - value(below);
    const double to_above = value(above) - magnitude;
    const bool down = to_below < to_above || (to_below == to_above && below % 2 == 0);
    return (std::signbit(x) ? 0x8000u : 0u) | (down ? below : above);
  }
};

constexpr Format kF16 = {5, 10};
constexpr Format kBF16 = {8, 7};

/// Both halves are tested alike: how one is widened and narrowed, and what it should be.
struct F16Case {
  static constexpr Format kFormat = kF16;
  static float widen(std::uint32_t bits) { return to_float(F16{static_cast<std::uint16_t>(bits)}); }
  static std::uint32_t narrow(float x) { return to_f16(x).bits; }
};
struct BF16Case {
  static constexpr Format kFormat = kBF16;
  static float widen(std::uint32_t bits) {
    return to_float(BF16{static_cast<std::uint16_t>(bits)});
  }
  static std::uint32_t narrow(float x) { return to_bf16(x).bits; }
};

template <class Case>
class Half : public testing::Test {};
using HalfCases = testing::Types<F16Case, BF16Case>;
TYPED_TEST_SUITE(Half, HalfCases);

TYPED_TEST(Half, every_number_widens_to_its_value_and_narrows_back_to_its_bits) {
  for (std::uint32_t bits = 0; bits < TypeParam::kFormat.infinity(); ++bits) {
    const float x = TypeParam::widen(bits);
    ASSERT_EQ(x, TypeParam::kFormat.value(bits)) << bits;
    ASSERT_EQ(TypeParam::narrow(x), bits);
    const float minus_x = TypeParam::widen(bits | 0x8000u);
    ASSERT_EQ(bits_of(minus_x), bits_of(x) | 0x80000000u) << bits;
    ASSERT_EQ(TypeParam::narrow(minus_x), bits | 0x8000u);
  }
}

TYPED_TEST(Half, infinities_stay_and_nans_stay_quiet_with_their_sign) {
  const std::uint32_t infinity = TypeParam::kFormat.infinity();
  EXPECT_EQ(TypeParam::widen(infinity), kInfiniteFloat);
  EXPECT_EQ(TypeParam::narrow(kInfiniteFloat), infinity);
  EXPECT_EQ(TypeParam::narrow(-kInfiniteFloat), infinity | 0x8000u);
  const std::uint32_t quiet = 1u << (TypeParam::kFormat.fraction_bits - 1);
  for (std::uint32_t bits = infinity + 1; bits < 0x8000u; ++bits) {
    for (const std::uint32_t nan : {bits, bits | 0x8000u}) {
      const float x = TypeParam::widen(nan);
      ASSERT_TRUE(std::isnan(x)) << nan;
      ASSERT_EQ(TypeParam::narrow(x), nan | quiet);
    }
  }
  // A NaN whose fraction has only bits that are cut off.
  EXPECT_EQ(TypeParam::narrow(float_of(0x7f800001u)), infinity | quiet);
}

/// Around every boundary between two neighbours: the tie itself and the floats beside it.
TYPED_TEST(Half, ties_go_to_even_and_all_else_to_the_nearest) {
  const Format format = TypeParam::kFormat;
  for (std::uint32_t bits = 0; bits + 1 < format.infinity(); ++bits) {
    const auto tie = static_cast<float>((format.value(bits) + format.value(bits + 1)) / 2);
    ASSERT_EQ(TypeParam::narrow(tie), bits + bits % 2) << bits;
    ASSERT_EQ(TypeParam::narrow(std::nextafter(tie, 0.0F)), bits);
    ASSERT_EQ(TypeParam::narrow(std::nextafter(tie, kInfiniteFloat)), bits + 1);
    ASSERT_EQ(TypeParam::narrow(-tie), (bits + bits % 2) | 0x8000u);
  }
}

TYPED_TEST(Half, overflow_is_to_infinity_from_the_tie_on) {
  const Format format = TypeParam::kFormat;
  const double largest = format.value(format.infinity() - 1);
  const double beyond = format.value(format.infinity());
  const auto tie = static_cast<float>((largest + beyond) / 2);
  EXPECT_EQ(TypeParam::narrow(tie), format.infinity());
  EXPECT_EQ(TypeParam::narrow(std::nextafter(tie, 0.0F)), format.infinity() - 1);
  EXPECT_EQ(TypeParam::narrow(-std::numeric_limits<float>::max()), format.infinity() | 0x8000u);
}

TYPED_TEST(Half, narrowing_is_the_definition_on_floats_of_every_exponent) {
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent) {
    for (std::uint32_t k = 0; k < 2000; ++k) {
      const std::uint32_t fraction = k * 2654435761u >> 9;  // spread over 2^23
      const float x = float_of(exponent << 23 | fraction | (k & 1u) << 31);
      ASSERT_EQ(TypeParam::narrow(x), TypeParam::kFormat.nearest(x)) << bits_of(x);
    }
  }
}

}  // namespace
}  // namespace forge::numerics
