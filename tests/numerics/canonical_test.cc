#include "forge/numerics/canonical.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "numerics/contraction_canary.h"
#include "numerics/test_values.h"

namespace forge::numerics {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Canonical, a_product_and_a_sum_are_not_contracted_in_code_that_links_numerics) {
  EXPECT_FALSE(is_contracted());
}

TEST(Canonical, fma_rounds_once) {
  const float a = 0x1.001p+0f;  // a * a = 1 + 2^-11 + 2^-24 exactly; the last term does not fit
  EXPECT_EQ(fma(a, a, -0x1.002p+0f), 0x1p-24f);
}

TEST(Canonical, exp_is_exact_at_zero_and_defined_beyond_its_range) {
  EXPECT_EQ(exp(0.0f), 1.0f);
  EXPECT_EQ(exp(-0.0f), 1.0f);
  EXPECT_LT(exp(exp_constants::kMax), kInfinity);
  EXPECT_EQ(exp(float_of(bits_of(exp_constants::kMax) + 1)), kInfinity);
  EXPECT_EQ(exp(kInfinity), kInfinity);
  EXPECT_GE(exp(exp_constants::kMin), std::numeric_limits<float>::min());
  EXPECT_EQ(bits_of(exp(float_of(bits_of(exp_constants::kMin) + 1))), 0u);
  EXPECT_EQ(bits_of(exp(-kInfinity)), 0u);
}

// Whatever its bits: a GPU's are 0x7fffffff, those of x86 0xffc00000.
TEST(Canonical, functions_of_nan_are_nan) {
  for (const std::uint32_t bits : {0x7fffffffu, 0xffc00000u, 0x7fc00001u, 0x7f800001u}) {
    const float nan = float_of(bits);
    EXPECT_TRUE(std::isnan(exp(nan))) << bits;
    EXPECT_TRUE(std::isnan(exp2(nan))) << bits;
    EXPECT_TRUE(std::isnan(silu(nan))) << bits;
    EXPECT_TRUE(std::isnan(tanh(nan))) << bits;
    EXPECT_TRUE(std::isnan(gelu_tanh(nan))) << bits;
    EXPECT_TRUE(std::isnan(soft_cap(nan, 2.0f))) << bits;
  }
}

TEST(Canonical, log_is_exact_at_one_and_defined_at_zero_and_infinity) {
  EXPECT_EQ(bits_of(log(1.0f)), 0u);
  EXPECT_EQ(log(0.0f), -kInfinity);
  EXPECT_EQ(log(kInfinity), kInfinity);
}

TEST(Canonical, silu_saturates_to_x_and_to_zero) {
  EXPECT_EQ(silu(0.0f), 0.0f);
  EXPECT_EQ(silu(50.0f), 50.0f);
  EXPECT_EQ(bits_of(silu(-200.0f)), bits_of(-0.0f));
}

TEST(Canonical, rsqrt_is_exact_for_powers_of_four) {
  EXPECT_EQ(rsqrt(4.0f), 0.5f);
  EXPECT_EQ(rsqrt(0x1p-20f), 0x1p+10f);
  EXPECT_EQ(rsqrt(0.0f), kInfinity);
}

TEST(Canonical, sincos_is_exact_at_zero) {
  EXPECT_EQ(sincos(0.0).sin, 0.0f);
  EXPECT_EQ(sincos(0.0).cos, 1.0f);
  EXPECT_EQ(rotary_frequency(10'000.0, 0, 64), 1.0);
}

// What every thread of a warp computes with v += __shfl_xor_sync(mask, v, distance).
std::vector<float> warp_shuffle_sum(std::vector<float> lanes) {
  for (std::size_t distance = 16; distance > 0; distance /= 2) {
    const std::vector<float> before = lanes;
    for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i] = before[i] + before[i ^ distance];
  }
  return lanes;
}

TEST(Canonical, tree_sum_is_the_xor_shuffle_of_a_warp_in_every_lane) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<float> lanes = random_values(kLanes, seed, 1000.0f);
    const std::vector<float> expected(kLanes, tree_sum(lanes.data()));
    EXPECT_EQ(bits_of(warp_shuffle_sum(lanes)), bits_of(expected));
  }
}

TEST(Canonical, sum_gives_element_i_to_lane_i_mod_32_in_ascending_order) {
  std::vector<float> x(97, 0.0f);
  x[5] = 0x1p+24f;
  x[37] = 1.0f;  // lane 5 again: 2^24 + 1 rounds to 2^24
  x[69] = -0x1p+24f;
  x[6] = 1.0f;  // lane 6: survives
  EXPECT_EQ(sum_reference(x.data(), 97), 1.0f);
  EXPECT_EQ(sum_reference(x.data(), 0), 0.0f);
}

TEST(Canonical, sum_of_squares_fuses_each_square_with_its_lane) {
  std::vector<float> x(64, 0.0f);
  x[0] = 0x1.001p+0f;
  x[32] = 1.0f;
  EXPECT_EQ(sum_of_squares_reference(x.data(), 64), fma(1.0f, 1.0f, x[0] * x[0]));
}

TEST(Canonical, max_has_no_negative_zero) {
  const float zeros[] = {-0.0f, -0.0f};
  EXPECT_EQ(bits_of(max_reference(zeros, 2)), bits_of(0.0f));
  const float values[] = {-3.0f, -1.0f, -2.0f};
  EXPECT_EQ(max_reference(values, 3), -1.0f);
}

TEST(Canonical, a_product_is_summed_in_segments_of_256) {
  std::vector<float> x(512, 1.0f);
  std::vector<float> w(512, 0.0f);
  w[0] = 0x1p+24f;
  for (std::size_t k = 256; k < 512; ++k) w[k] = 1.0f;
  // One chain would lose every 1: 2^24 + 1 rounds to 2^24.
  EXPECT_EQ(product_reference(x.data(), w.data(), 512), 0x1p+24f + 256.0f);
  for (std::size_t k = 1; k < 256; ++k) w[k] = 1.0f;
  EXPECT_EQ(product_reference(x.data(), w.data(), 256), 0x1p+24f);
}

}  // namespace
}  // namespace forge::numerics
