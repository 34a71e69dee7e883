#include "forge/numerics/kv_type.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace forge::numerics {
namespace {

constexpr float kUnbounded = std::numeric_limits<float>::infinity();

/// A type of 16 bits: its largest number, and its smallest.
template <class Stored>
struct Range;
template <>
struct Range<BF16> {
  static constexpr float kLargest = 0x1.fep127F;
  static constexpr float kSmallest = 0x1p-133F;
};
template <>
struct Range<F16> {
  static constexpr float kLargest = 65504.0F;
  static constexpr float kSmallest = 0x1p-24F;
};

template <class Stored>
class StoredKv : public testing::Test {
 protected:
  static float kept(float x) { return widened(stored<Stored>(x)); }
};
using NarrowTypes = testing::Types<BF16, F16>;
TYPED_TEST_SUITE(StoredKv, NarrowTypes);

TYPED_TEST(StoredKv, numbers_of_the_type_stay_as_they_are) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const TypeParam number{static_cast<std::uint16_t>(bits)};
    const float x = widened(number);
    if (!std::isfinite(x)) continue;
    ASSERT_EQ(stored<TypeParam>(x), number) << bits;
  }
}

TYPED_TEST(StoredKv, others_become_the_nearest_and_of_two_the_even_one) {
  for (std::uint16_t bits = 0; widened(TypeParam{bits}) < Range<TypeParam>::kLargest; ++bits) {
    const TypeParam above_it{static_cast<std::uint16_t>(bits + 1)};
    const float below = widened(TypeParam{bits});
    const float above = widened(above_it);
    const float tie = below + (above - below) / 2;
    const TypeParam even = bits % 2 == 0 ? TypeParam{bits} : above_it;
    ASSERT_EQ(stored<TypeParam>(tie), even) << bits;
    ASSERT_EQ(stored<TypeParam>(std::nextafter(tie, 0.0F)), TypeParam{bits}) << bits;
    ASSERT_EQ(stored<TypeParam>(std::nextafter(tie, kUnbounded)), above_it) << bits;
    ASSERT_EQ(this->kept(-tie), -widened(even)) << bits;
  }
}

TYPED_TEST(StoredKv, what_rounds_to_nothing_keeps_its_sign) {
  const float half = Range<TypeParam>::kSmallest / 2;
  EXPECT_EQ(this->kept(half), 0.0F);
  EXPECT_TRUE(std::signbit(this->kept(-half)));
  EXPECT_EQ(this->kept(std::nextafter(half, 1.0F)), Range<TypeParam>::kSmallest);
  EXPECT_EQ(this->kept(-3 * half), -2 * Range<TypeParam>::kSmallest) << "a tie";
}

TYPED_TEST(StoredKv, what_is_beyond_the_largest_number_becomes_that) {
  const float largest = Range<TypeParam>::kLargest;
  for (const float x : {std::nextafter(largest, kUnbounded), largest * 1.0005F,
                        std::numeric_limits<float>::max(), kUnbounded}) {
    EXPECT_EQ(this->kept(x), largest) << x;
    EXPECT_EQ(this->kept(-x), -largest) << x;
  }
}

TYPED_TEST(StoredKv, nan_stays_nan) {
  for (const std::uint32_t bits : {0x7fc00000U, 0x7f800001U, 0xffffffffU}) {
    EXPECT_TRUE(std::isnan(this->kept(std::bit_cast<float>(bits)))) << bits;
  }
  EXPECT_TRUE(std::isnan(widened(TypeParam{0xffff}))) << "memory that nobody has written";
}

TEST(KvType, f32_keeps_every_bit) {
  for (const float x : {0.0F, -0.0F, 1e-45F, 0.1F, -3e38F, kUnbounded}) {
    EXPECT_EQ(bits_of(widened(stored<float>(x))), bits_of(x));
  }
}

TEST(KvType, knows_its_bytes_and_its_name) {
  EXPECT_EQ(bytes_of(KvType::f32), 4U);
  EXPECT_EQ(bytes_of(KvType::bf16), 2U);
  EXPECT_EQ(bytes_of(KvType::f16), 2U);
  EXPECT_EQ(from_name<KvType>("bf16"), KvType::bf16);
  EXPECT_EQ(kKvTypeOf<F16>, KvType::f16);
}

}  // namespace
}  // namespace forge::numerics
