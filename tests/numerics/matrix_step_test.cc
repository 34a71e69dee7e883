#include "forge/numerics/matrix_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "numerics/step_fragments.h"

namespace forge::testing {
namespace {

using numerics::BF16;
using numerics::bits_of;
using numerics::F16;
using numerics::float_of;
using numerics::kMmaSm80;
using numerics::kMmaSm90;
using numerics::kStepProducts;
using numerics::StepModel;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float step(const StepModel& model, const std::array<BF16, kStepProducts>& a,
           const std::array<BF16, kStepProducts>& b, float c) {
  return numerics::matrix_step(model, numerics::step_row<BF16>(a), numerics::step_row<BF16>(b), c);
}

/// c + the sum of x[k] * 1, the rest of the products 0 * 1.
float sum(const StepModel& model, std::initializer_list<float> x, float c) {
  std::array<BF16, kStepProducts> a{};
  std::array<BF16, kStepProducts> b{};
  b.fill(numerics::to_bf16(1));
  std::ranges::transform(x, a.begin(), [](float value) { return numerics::to_bf16(value); });
  return step(model, a, b, c);
}

TEST(MatrixStep, what_was_cut_depends_on_the_largest_term) {
  EXPECT_EQ(sum(kMmaSm90, {0x1p-23F}, 1), 1 + 0x1p-23F);
  EXPECT_EQ(sum(kMmaSm90, {0x1p-24F, 0x1p-24F}, 1), 1 + 0x1p-23F);  // one binade more than f32
  EXPECT_EQ(sum(kMmaSm90, {0x1p-25F, 0x1p-25F, 0x1p-25F, 0x1p-25F}, 1), 1 + 0x1p-23F);  // and two
  EXPECT_EQ(
      sum(kMmaSm90,
          {0x1p-26F, 0x1p-26F, 0x1p-26F, 0x1p-26F, 0x1p-26F, 0x1p-26F, 0x1p-26F, 0x1p-26F}, 1),
      1);  // each is cut
  EXPECT_EQ(sum(kMmaSm80, {0x1p-24F, 0x1p-24F}, 1), 1 + 0x1p-23F);
  EXPECT_EQ(sum(kMmaSm80, {0x1p-25F, 0x1p-25F, 0x1p-25F, 0x1p-25F}, 1), 1);
}

TEST(MatrixStep, is_cut_towards_zero) {
  EXPECT_EQ(sum(kMmaSm90, {0x1.8p-24F}, 1), 1);
  EXPECT_EQ(sum(kMmaSm90, {-0x1.8p-24F}, -1), -1);
  EXPECT_EQ(sum(kMmaSm90, {-0x1p-25F}, 1), 1 - 0x1p-24F);  // 1 - 2^-25 has 25 bits
  EXPECT_EQ(sum(kMmaSm90, {-0x1p-26F}, 1), 1);
}

/// 1.5 * 1.5 is aligned as if it were below 2.
TEST(MatrixStep, a_product_is_aligned_by_the_exponents_of_its_factors) {
  const auto remainder_beside = [](float x, float y) {  // of 2^-25 + x y - x y
    const std::array<BF16, 16> a{numerics::to_bf16(x), numerics::to_bf16(-x),
                                 numerics::to_bf16(0x1p-25F)};
    const std::array<BF16, 16> b{numerics::to_bf16(y), numerics::to_bf16(y), numerics::to_bf16(1)};
    return step(kMmaSm90, a, b, 0);
  };
  EXPECT_EQ(remainder_beside(1.5F, 1.5F), 0x1p-25F);
  EXPECT_EQ(remainder_beside(1.125F, 2), 0);  // a product of 2.25, too
}

TEST(MatrixStep, a_product_of_zero_has_no_exponent) {
  std::array<BF16, 16> a{};
  std::array<BF16, 16> b{};
  b.fill({0x7f00});  // 2^127
  EXPECT_EQ(bits_of(step(kMmaSm90, a, b, 0x1p-140F)), bits_of(0x1p-140F));
}

TEST(MatrixStep, a_group_ends_in_f32) {
  // The first group of eight is cut to 1; as one group of sixteen nothing is lost.
  std::initializer_list<float> x{0x1p-24F, 0, 0, 0, 0, 0, 0, 0, 0x1p-24F};
  EXPECT_EQ(sum(kMmaSm80, x, 1), 1);
  EXPECT_EQ(sum(kMmaSm90, x, 1), 1 + 0x1p-23F);
}

TEST(MatrixStep, sums_of_zero_are_positive) {
  EXPECT_EQ(bits_of(sum(kMmaSm90, {-0.0F, -0.0F}, -0.0F)), 0u);
  EXPECT_EQ(bits_of(sum(kMmaSm90, {2, -2}, -0.0F)), 0u);
}

TEST(MatrixStep, subnormals_count_and_large_sums_are_infinite) {
  EXPECT_EQ(sum(kMmaSm90, {0x1p-133F}, 0x1p-149F), 0x1p-133F + 0x1p-149F);
  EXPECT_EQ(sum(kMmaSm90, {0x1p-126F}, -0x1p-149F), 0x1p-126F - 0x1p-149F);
  EXPECT_EQ(sum(kMmaSm90, {0x1p127F}, 0x1.fffffep126F), 0x1.fffffep127F);  // cut, not rounded
  EXPECT_EQ(sum(kMmaSm90, {0x1p127F, 0x1p127F}, 0), kInfinity);
  EXPECT_EQ(sum(kMmaSm90, {-0x1p127F, -0x1p127F}, 0), -kInfinity);
  EXPECT_EQ(sum(kMmaSm80, {0x1p127F, 0x1p127F, 0, 0, 0, 0, 0, 0, -0x1p127F}, 0), kInfinity);
  EXPECT_EQ(sum(kMmaSm90, {0x1p127F, 0x1p127F, 0, 0, 0, 0, 0, 0, -0x1p127F}, 0), 0x1p127F);
}

TEST(MatrixStep, infinities_and_nans) {
  EXPECT_EQ(sum(kMmaSm90, {kInfinity, 1}, 0), kInfinity);
  EXPECT_EQ(sum(kMmaSm90, {1}, -kInfinity), -kInfinity);
  EXPECT_EQ(bits_of(sum(kMmaSm90, {kInfinity, -kInfinity}, 0)), 0x7fffffffu);
  EXPECT_EQ(bits_of(sum(kMmaSm90, {kInfinity}, -kInfinity)), 0x7fffffffu);
  EXPECT_EQ(bits_of(sum(kMmaSm90, {-std::numeric_limits<float>::quiet_NaN()}, 0)), 0x7fffffffu);
  std::array<BF16, 16> a{};
  std::array<BF16, 16> b{};
  b[3] = numerics::to_bf16(kInfinity);  // times 0
  EXPECT_EQ(bits_of(step(kMmaSm90, a, b, 0)), 0x7fffffffu);
}

/// What an H200 computed: driver 580.159.04, 2026-11-26.
TEST(MatrixStep, agrees_with_what_an_h200_has_computed) {
  struct Seen {
    std::uint32_t d, c;
    std::uint16_t a[16], b[16];
  };
  const Seen seen[] = {
      {0x804415d5,
       0x800035d5,
       {0x0071, 0x0041, 0x8070, 0x003d, 0xbdf6, 0xbdc3, 0x8000, 0x8000, 0x8000, 0, 0xc00f, 0xbfe7,
        0x8023, 0x3da0, 0, 0},
       {0xbe33, 0x0018, 0x3ed9, 0x8000, 0x8006, 0x802e, 0x3dd8, 0x807a, 0x415e, 0x0040, 0x0004, 0,
        0xbe9a, 0x805e, 0x3f4f, 0x8000}},
      {0x006fb8e7,
       0x0000ed67,
       {0x007c, 0x801f, 0x007c, 0x8011, 0x804d, 0, 0x3f38, 0, 0x0044, 0x0022, 0x3f02, 0, 0xc161, 0,
        0, 0x3df6},
       {0x807d, 0xc021, 0x8000, 0x8000, 0x3ecb, 0x0054, 0x0045, 0, 0x3e4f, 0, 0, 0x8055, 0, 0x8042,
        0xbfa3, 0}},
      {0x0d182400,
       0x0000837c,
       {0x8000, 0, 0, 0x25f2, 0x0456, 0x8000, 0, 0x8000, 0, 0x8000, 0, 0, 0, 0x8000, 0x8000,
        0x8000},
       {0x8000, 0x122f, 0x8000, 0, 0x4836, 0, 0x8000, 0x8000, 0, 0x8000, 0, 0, 0xfc8a, 0, 0x8000,
        0x66f0}},
      {0xa90e7100,
       0x80008a11,
       {0, 0x8000, 0, 0x8000, 0x8000, 0, 0x8000, 0, 0, 0x0bcb, 0x8000, 0x8000, 0x82dd, 0, 0xe099,
        0x8000},
       {0x2b78, 0x6dc7, 0, 0, 0x8000, 0, 0x8000, 0x8000, 0x8000, 0x8000, 0x5e24, 0x8000, 0x65a5, 0,
        0, 0}},
      {0x80004875,
       0x80004875,
       {0xc279, 0, 0x8000, 0x8000, 0, 0x8000, 0x8000, 0xe029, 0, 0xca45, 0x224f, 0x8000, 0, 0xe81e,
        0x8000, 0xf1b7},
       {0x8000, 0, 0x4e98, 0xf5e5, 0x8000, 0x8000, 0, 0, 0, 0, 0x8000, 0, 0x7acd, 0, 0x8000, 0}},
      {0x000221bf,
       0x80000000,
       {0x1926, 0x9eef, 0x97cd, 0x9e75, 0x1ac4, 0x9e8d, 0x20e3, 0x1bc9, 0x9ce7, 0x9cdc, 0x1e40,
        0x18b9, 0x1eab, 0x219f, 0x9d2c, 0x9e09},
       {0x9cd2, 0x9dc9, 0x2001, 0x1ddf, 0x1d5f, 0x1bf7, 0x1b89, 0x98dc, 0x9b1a, 0x98ab, 0x187f,
        0x1d45, 0x9a1e, 0x1a7e, 0x9b3c, 0x18ca}},
      {0x8000ac80,
       0x80000000,
       {0x9e36, 0x9b10, 0x98e1, 0x1fb8, 0x1c21, 0x1dac, 0x9dd8, 0x9785, 0x9fab, 0x1e56, 0x9856,
        0x1a50, 0x9cb4, 0x1a7d, 0x1f2e, 0x981b},
       {0x9ac4, 0x1dd5, 0x9fad, 0x989d, 0x9cee, 0x9af4, 0x1c1b, 0xa042, 0x1a69, 0x9bc5, 0x1941,
        0x1e52, 0x1ee1, 0x1f9f, 0x9c59, 0x9bae}},
      {0x8000b5a4,
       0,
       {0x9b3e, 0x9ae6, 0x1c1f, 0x9908, 0x1881, 0x97e2, 0x1b78, 0x1e1c, 0x1e97, 0x9d8d, 0x1baa,
        0x1784, 0x9e30, 0x9dcd, 0x9b16, 0x1905},
       {0x210c, 0x1d33, 0x9b1a, 0x9df0, 0x207f, 0x1bf0, 0x999a, 0x981f, 0x9853, 0x17f3, 0x1f22,
        0x1792, 0x18c4, 0x988d, 0x1da7, 0x9e6f}},
      {0,
       0x80000000,
       {0xbde6, 0x8057, 0x802c, 0x0032, 0x3db8, 0x0071, 0x0063, 0, 0xbe03, 0x8000, 0x0044, 0xbfb3,
        0x8000, 0x8000, 0x8000, 0x8000},
       {0, 0x0028, 0, 0x8000, 0x8000, 0x8021, 0, 0x8000, 0, 0x8000, 0x8010, 0x8000, 0x802c, 0xbf08,
        0x8030, 0x8000}}};
  for (const Seen& was : seen) {
    std::array<BF16, 16> a{};
    std::array<BF16, 16> b{};
    for (std::size_t k = 0; k < 16; ++k) {
      a[k] = {was.a[k]};
      b[k] = {was.b[k]};
    }
    EXPECT_EQ(bits_of(step(kMmaSm90, a, b, float_of(was.c))), was.d);
  }
}

// ---- Properties, over fragments of every kind ---------------------------------------------------

template <class Half>
class FragmentsOf : public ::testing::Test {
 protected:
  template <class Check>
  static void for_each_fragment(FragmentKind kind, const Check& check) {
    for (std::uint64_t number = 0; number < 200; ++number) check(step_fragment<Half>(kind, number));
  }
};
using Halves = ::testing::Types<BF16, F16>;
TYPED_TEST_SUITE(FragmentsOf, Halves);

TYPED_TEST(FragmentsOf, whole_numbers_are_added_exactly) {
  this->for_each_fragment(FragmentKind::integers, [](const StepFragment<TypeParam>& fragment) {
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 8; ++j) {
        double exact = static_cast<double>(fragment.c[i][j]);
        for (int k = 0; k < 16; ++k) {
          exact += static_cast<double>(numerics::to_float(fragment.a[i][k])) *
                   static_cast<double>(numerics::to_float(fragment.b[j][k]));
        }
        for (const StepModel& model : {kMmaSm80, kMmaSm90}) {
          ASSERT_EQ(static_cast<double>(fragment.step(model, i, j)), exact);
        }
      }
    }
  });
}

TYPED_TEST(FragmentsOf, the_order_within_a_group_changes_nothing) {
  for (std::size_t kind = 0; kind < kNames<FragmentKind>.size(); ++kind) {
    this->for_each_fragment(static_cast<FragmentKind>(kind), [](StepFragment<TypeParam> fragment) {
      StepFragment<TypeParam> turned = fragment;
      for (auto& row : turned.a) std::rotate(row, row + 5, row + 16);
      for (auto& row : turned.b) std::rotate(row, row + 5, row + 16);
      for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 8; ++j) {
          ASSERT_EQ(bits_of(fragment.step(kMmaSm90, i, j)), bits_of(turned.step(kMmaSm90, i, j)));
        }
      }
    });
  }
}

/// Each of 17 terms loses less than 2^(e - F), and the sum less than its own last bit.
TYPED_TEST(FragmentsOf, the_error_is_within_what_is_cut) {
  for (const FragmentKind kind :
       {FragmentKind::moderate, FragmentKind::cancelling, FragmentKind::spread}) {
    this->for_each_fragment(kind, [](const StepFragment<TypeParam>& fragment) {
      for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 8; ++j) {
          double exact = static_cast<double>(fragment.c[i][j]);
          double largest = std::abs(exact);
          for (int k = 0; k < 16; ++k) {
            const double product = static_cast<double>(numerics::to_float(fragment.a[i][k])) *
                                   static_cast<double>(numerics::to_float(fragment.b[j][k]));
            exact += product;
            largest = std::max(largest, std::abs(product));
          }
          const double d = static_cast<double>(fragment.step(kMmaSm90, i, j));
          ASSERT_LE(std::abs(d - exact), 17 * largest * 0x1p-25 + std::abs(exact) * 0x1p-23);
        }
      }
    });
  }
}

TYPED_TEST(FragmentsOf, each_kind_is_what_its_name_says) {
  std::array<int, kNames<FragmentKind>.size()> differ{};  // where the models do
  int infinite = 0;
  int nan = 0;
  int subnormal = 0;
  for (std::size_t kind = 0; kind < differ.size(); ++kind) {
    this->for_each_fragment(static_cast<FragmentKind>(kind), [&](const StepFragment<TypeParam>& f) {
      const float d = f.step(kMmaSm90, 3, 5);
      differ[kind] += bits_of(d) != bits_of(f.step(kMmaSm80, 3, 5)) ? 1 : 0;
      infinite += std::isinf(d) ? 1 : 0;
      nan += std::isnan(d) ? 1 : 0;
      subnormal += std::fpclassify(d) == FP_SUBNORMAL ? 1 : 0;
    });
  }
  for (const FragmentKind kind :
       {FragmentKind::moderate, FragmentKind::cancelling, FragmentKind::spread}) {
    EXPECT_GT(differ[static_cast<std::size_t>(kind)], 20) << name_of(kind);
  }
  EXPECT_EQ(differ[static_cast<std::size_t>(FragmentKind::integers)], 0);
  EXPECT_GT(infinite, 20);
  EXPECT_GT(nan, 20);
  EXPECT_GT(subnormal, 20);
}

}  // namespace
}  // namespace forge::testing
