#include "forge/numerics/vector_ops.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <vector>

#include "forge/numerics/reference.h"
#include "numerics/test_values.h"

namespace forge::numerics {
namespace {

/// Sizes around every vector width, odd ones, and past a segment.
const std::vector<int> kSizes = {1,  2,  3,  4,  5,  7,  8,  9,   15,  16,  17,  23,
                                 31, 32, 33, 47, 63, 64, 65, 100, 255, 256, 257, 1001};

/// Calls body(n, seed) for every size, on every target.
template <class Body>
void for_every_size_and_target(const Body& body) {
  for_every_target([&] {
    for (const int n : kSizes) {
      SCOPED_TRACE(n);
      body(n, static_cast<std::uint64_t>(n) + 1000);
    }
  });
}

TEST(VectorOps, the_tests_reach_more_than_one_instruction_set) {
  std::set<std::size_t> chosen;
  for_every_target([&] { chosen.insert(hwy::GetChosenTarget().GetIndex()); });
  EXPECT_EQ(chosen.size(), hwy::SupportedAndGeneratedTargets().size());
}

TEST(VectorOps, rms_norm_has_the_bits_of_its_definition) {
  for_every_size_and_target([](int n, std::uint64_t seed) {
    const auto x = random_values(n, seed, 3.0f);
    const auto weight = random_values(n, seed + 1);
    std::vector<float> y(x.size());
    std::vector<float> expected(x.size());
    rms_norm(x.data(), weight.data(), n, 1e-5f, y.data());
    rms_norm_reference(x.data(), weight.data(), n, 1e-5f, expected.data());
    EXPECT_EQ(bits_of(y), bits_of(expected));
  });
}

TEST(VectorOps, rms_norm_works_in_place) {
  auto x = random_values(77, 1);
  const auto weight = random_values(77, 2);
  std::vector<float> expected(x.size());
  rms_norm(x.data(), weight.data(), 77, 1e-5f, expected.data());
  rms_norm(x.data(), weight.data(), 77, 1e-5f, x.data());
  EXPECT_EQ(bits_of(x), bits_of(expected));
}

TEST(VectorOps, silu_multiply_has_the_bits_of_its_definition) {
  for_every_size_and_target([](int n, std::uint64_t seed) {
    const auto gate = random_values(n, seed, 100.0f);
    const auto up = random_values(n, seed + 1);
    std::vector<float> y(gate.size());
    std::vector<float> expected(gate.size());
    silu_multiply(gate.data(), up.data(), n, y.data());
    silu_multiply_reference(gate.data(), up.data(), n, expected.data());
    EXPECT_EQ(bits_of(y), bits_of(expected));
  });
}

TEST(VectorOps, gelu_tanh_multiply_has_the_bits_of_its_definition) {
  for_every_size_and_target([](int n, std::uint64_t seed) {
    const auto gate = random_values(n, seed, 20.0f);
    const auto up = random_values(n, seed + 1);
    std::vector<float> y(gate.size());
    std::vector<float> expected(gate.size());
    gelu_tanh_multiply(gate.data(), up.data(), n, y.data());
    gelu_tanh_multiply_reference(gate.data(), up.data(), n, expected.data());
    EXPECT_EQ(bits_of(y), bits_of(expected));
  });
}

TEST(VectorOps, clamped_swiglu_has_the_bits_of_its_definition) {
  for_every_size_and_target([](int n, std::uint64_t seed) {
    const auto gate = random_values(n, seed, 100.0f);
    const auto up = random_values(n, seed + 1, 10.0f);
    std::vector<float> y(gate.size());
    std::vector<float> expected(gate.size());
    constexpr SwigluClamp kClamp{.alpha = 1.7f, .limit = 3.5f};
    clamped_swiglu(gate.data(), up.data(), kClamp, n, y.data());
    clamped_swiglu_reference(gate.data(), up.data(), kClamp, n, expected.data());
    EXPECT_EQ(bits_of(y), bits_of(expected));
  });
}

TEST(VectorOps, clamped_swiglu_clamps_the_gate_above_and_the_rest_on_both_sides) {
  constexpr SwigluClamp kClamp{.alpha = 2, .limit = 3};
  EXPECT_EQ(clamped_swiglu(50, 1, kClamp), clamped_swiglu(3, 1, kClamp));
  EXPECT_NE(clamped_swiglu(-4, 1, kClamp), clamped_swiglu(-3, 1, kClamp));
  EXPECT_EQ(clamped_swiglu(1, 50, kClamp), clamped_swiglu(1, 3, kClamp));
  EXPECT_EQ(clamped_swiglu(1, -50, kClamp), clamped_swiglu(1, -3, kClamp));
  EXPECT_EQ(clamped_swiglu(0, 1, kClamp), 0);
  EXPECT_EQ(clamped_swiglu(1, -1, kClamp), 0);
  EXPECT_NEAR(clamped_swiglu(0.5f, 2, kClamp), 3 * 0.5 / (1 + std::exp(-1.0)), 1e-6);
}

TEST(VectorOps, soft_cap_has_the_bits_of_its_definition) {
  for_every_size_and_target([](int n, std::uint64_t seed) {
    auto x = random_values(n, seed, 100.0f);
    auto expected = x;
    soft_cap(x.data(), 30.0f, n);
    soft_cap_reference(expected.data(), 30.0f, n);
    EXPECT_EQ(bits_of(x), bits_of(expected));
  });
}

TEST(VectorOps, add_has_the_bits_of_its_definition) {
  for_every_size_and_target([](int n, std::uint64_t seed) {
    auto x = random_values(n, seed);
    auto expected = x;
    const auto y = random_values(n, seed + 1, 1e-3f);
    add(x.data(), y.data(), n);
    add_reference(expected.data(), y.data(), n);
    EXPECT_EQ(bits_of(x), bits_of(expected));
  });
}

TEST(VectorOps, add_scaled_has_the_bits_of_its_definition) {
  for_every_size_and_target([](int n, std::uint64_t seed) {
    auto x = random_values(n, seed);
    auto expected = x;
    const auto y = random_values(n, seed + 1, 3.0f);
    add_scaled(x.data(), y.data(), 0.7f, n);
    add_scaled_reference(expected.data(), y.data(), 0.7f, n);
    EXPECT_EQ(bits_of(x), bits_of(expected));
  });
}

TEST(VectorOps, add_scaled_by_one_adds) {
  auto x = random_values(100, 1);
  auto expected = x;
  const auto y = random_values(100, 2, 1e-3f);
  add_scaled(x.data(), y.data(), 1.0f, 100);
  add(expected.data(), y.data(), 100);
  EXPECT_EQ(bits_of(x), bits_of(expected));
}

TEST(VectorOps, scale_has_the_bits_of_its_definition) {
  for_every_size_and_target([](int n, std::uint64_t seed) {
    auto x = random_values(n, seed);
    auto expected = x;
    scale(x.data(), 0.3f, n);
    scale_reference(expected.data(), 0.3f, n);
    EXPECT_EQ(bits_of(x), bits_of(expected));
  });
}

TEST(VectorOps, exp_minus_has_the_bits_of_its_definition) {
  for_every_size_and_target([](int n, std::uint64_t seed) {
    const auto x = random_values(n, seed, 120.0f);  // overflow and flush to zero included
    std::vector<float> y(x.size());
    std::vector<float> expected(x.size());
    exp_minus(x.data(), 1.5f, n, y.data());
    exp_minus_reference(x.data(), 1.5f, n, expected.data());
    EXPECT_EQ(bits_of(y), bits_of(expected));
  });
}

TEST(VectorOps, exp_minus_handles_infinities_and_the_edges_of_its_range) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  const float above_max = float_of(bits_of(exp_constants::kMax) + 1);
  const float below_min = float_of(bits_of(exp_constants::kMin) + 1);
  const std::vector<float> x = {-kInfinite, below_min,           exp_constants::kMin, -0.0f,
                                0.0f,       exp_constants::kMax, above_max,           kInfinite};
  for_every_target([&] {
    std::vector<float> y(x.size());
    std::vector<float> expected(x.size());
    exp_minus(x.data(), 0.0f, static_cast<int>(x.size()), y.data());
    exp_minus_reference(x.data(), 0.0f, static_cast<int>(x.size()), expected.data());
    EXPECT_EQ(bits_of(y), bits_of(expected));
  });
}

TEST(VectorOps, exp_minus_of_nan_is_nan_whatever_its_bits) {
  const std::vector<float> x = {float_of(0x7fffffffu), float_of(0xffc00000u), 1.0f,
                                float_of(0x7fc00001u), float_of(0x7f800001u)};
  for_every_target([&] {
    std::vector<float> y(x.size());
    exp_minus(x.data(), 0.0f, static_cast<int>(x.size()), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(std::isnan(y[i]), std::isnan(x[i])) << i;
  });
}

TEST(VectorOps, reductions_have_the_bits_of_their_definitions) {
  for_every_size_and_target([](int n, std::uint64_t seed) {
    const auto x = random_values(n, seed, 10.0f);
    EXPECT_EQ(bits_of(max(x.data(), n)), bits_of(max_reference(x.data(), n)));
    EXPECT_EQ(bits_of(sum(x.data(), n)), bits_of(sum_reference(x.data(), n)));
    EXPECT_EQ(bits_of(sum_of_squares(x.data(), n)), bits_of(sum_of_squares_reference(x.data(), n)));
  });
}

TEST(VectorOps, sums_of_nothing_are_zero) {
  EXPECT_EQ(bits_of(sum(nullptr, 0)), 0u);
  EXPECT_EQ(bits_of(sum_of_squares(nullptr, 0)), 0u);
}

TEST(VectorOps, max_of_zeros_is_positive_zero_whatever_their_order) {
  for_every_size_and_target([](int n, std::uint64_t seed) {
    std::vector<float> x;
    for (int i = 0; i < n; ++i) {
      x.push_back(random_int(0, 1, seed, static_cast<std::uint32_t>(i)) == 0 ? 0.0f : -0.0f);
    }
    EXPECT_EQ(bits_of(max(x.data(), n)), 0u);
  });
}

TEST(VectorOps, argmax_is_the_lowest_index_of_the_largest) {
  for_every_size_and_target([](int n, std::uint64_t seed) {
    std::vector<float> x;
    for (int i = 0; i < n; ++i) {  // few distinct values: many ties
      x.push_back(static_cast<float>(random_int(-3, 3, seed, static_cast<std::uint32_t>(i))));
    }
    EXPECT_EQ(argmax(x.data(), n), argmax_reference(x.data(), n));
  });
}

TEST(VectorOps, argmax_takes_zeros_of_either_sign_as_equal) {
  std::vector<float> x(40, -1.0f);
  x[11] = -0.0f;
  x[12] = 0.0f;
  for_every_target([&] { EXPECT_EQ(argmax(x.data(), 40), 11); });
}

TEST(VectorOps, argmax_of_negative_infinities_is_the_first) {
  const std::vector<float> x(40, -std::numeric_limits<float>::infinity());
  for_every_target([&] { EXPECT_EQ(argmax(x.data(), 40), 0); });
}

TEST(VectorOps, argmax_of_nans_stays_inside_the_row) {
  const std::vector<float> x(40, std::numeric_limits<float>::quiet_NaN());
  for_every_target([&] {
    EXPECT_GE(argmax(x.data(), 37), 0);
    EXPECT_LT(argmax(x.data(), 37), 37);
  });
}

TEST(VectorOps, max_knows_negative_infinity) {
  const std::vector<float> x(40, -std::numeric_limits<float>::infinity());
  for_every_target([&] { EXPECT_EQ(max(x.data(), 40), x[0]); });
}

TEST(VectorOps, rotate_pairs_has_the_bits_of_its_definition) {
  for_every_size_and_target([](int half, std::uint64_t seed) {
    auto head = random_values(2 * half, seed);
    auto expected = head;
    const auto cos = random_values(half, seed + 1);
    const auto sin = random_values(half, seed + 2);
    rotate_pairs(head.data(), cos.data(), sin.data(), half);
    rotate_pairs_reference(expected.data(), cos.data(), sin.data(), half);
    EXPECT_EQ(bits_of(head), bits_of(expected));
  });
}

TEST(VectorOps, rotate_adjacent_pairs_has_the_bits_of_its_definition) {
  for_every_size_and_target([](int half, std::uint64_t seed) {
    auto head = random_values(2 * half, seed);
    auto expected = head;
    const auto cos = random_values(half, seed + 1);
    const auto sin = random_values(half, seed + 2);
    rotate_adjacent_pairs(head.data(), cos.data(), sin.data(), half);
    rotate_adjacent_pairs_reference(expected.data(), cos.data(), sin.data(), half);
    EXPECT_EQ(bits_of(head), bits_of(expected));
  });
}

TEST(VectorOps, the_two_pairings_differ_in_the_order_of_components_alone) {
  const auto values = random_values(34, 1);
  const auto cos = random_values(17, 2);
  const auto sin = random_values(17, 3);
  auto halves = values;
  auto adjacent = values;
  for (std::size_t i = 0; i < 17; ++i) {
    adjacent[2 * i] = values[i];
    adjacent[2 * i + 1] = values[17 + i];
  }
  rotate_pairs(halves.data(), cos.data(), sin.data(), 17);
  rotate_adjacent_pairs(adjacent.data(), cos.data(), sin.data(), 17);
  for (std::size_t i = 0; i < 17; ++i) {
    EXPECT_EQ(bits_of(adjacent[2 * i]), bits_of(halves[i]));
    EXPECT_EQ(bits_of(adjacent[2 * i + 1]), bits_of(halves[17 + i]));
  }
}

TEST(VectorOps, a_quarter_turn_maps_a_pair_to_minus_second_and_first) {
  float head[] = {3.0f, 5.0f};
  const float cos = 0.0f;
  const float sin = 1.0f;
  rotate_pairs(head, &cos, &sin, 1);
  EXPECT_EQ(head[0], -5.0f);
  EXPECT_EQ(head[1], 3.0f);
}

}  // namespace
}  // namespace forge::numerics
