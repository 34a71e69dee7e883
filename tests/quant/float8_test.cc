#include "forge/quant/float8.h"

#include <gtest/gtest.h>

#include <cmath>

#include "forge/numerics/half.h"

namespace forge::quant {
namespace {

/// By the definition, in doubles.
double value_of(int bits) {
  const int exponent = bits >> 3 & 15;
  const int fraction = bits & 7;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
  return bits < 128 ? magnitude : -magnitude;
}

TEST(Float8, e4m3_is_four_bits_of_exponent_and_three_of_fraction) {
  for (int bits = 0; bits < 256; ++bits) {
    const float x = to_float(E4M3{static_cast<std::uint8_t>(bits)});
    if ((bits & 127) == 127) {
      EXPECT_TRUE(std::isnan(x)) << bits;
      continue;
    }
    EXPECT_EQ(static_cast<double>(x), value_of(bits)) << bits;
    EXPECT_EQ(std::signbit(x), bits >= 128) << bits;
    EXPECT_EQ(to_float(numerics::to_f16(x)), x);
    EXPECT_EQ(to_float(numerics::to_bf16(x)), x);
  }
  EXPECT_EQ(to_float(E4M3{0x7e}), 448.0F);
  EXPECT_EQ(to_float(E4M3{0x01}), 0x1p-9F);
}

}  // namespace
}  // namespace forge::quant
