#include "forge/numerics/packed_matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "forge/numerics/canonical.h"
#include "numerics/test_values.h"

namespace forge::numerics {
namespace {

std::vector<float> product(const std::vector<float>& x, int rows, const PackedMatrix& w) {
  std::vector<float> y(static_cast<std::size_t>(rows * w.outputs()), -1.0f);
  multiply(x.data(), rows, w, y.data());
  return y;
}

std::vector<float> product_by_definition(const std::vector<float>& x, int rows,
                                         const PackedMatrix& w) {
  std::vector<float> y(static_cast<std::size_t>(rows * w.outputs()), -1.0f);
  multiply_reference(x.data(), rows, w, y.data());
  return y;
}

TEST(PackedMatrix, holds_the_weights_in_zero_padded_aligned_panels) {
  const auto weights = random_values(33 * 5, 1);
  const PackedMatrix w(weights.data(), 33, 5);
  EXPECT_EQ(w.outputs(), 33);
  EXPECT_EQ(w.inputs(), 5);
  ASSERT_EQ(w.panels(), 2);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(w.panel(0)) % 64, 0u);
  for (int output = 0; output < 33; ++output) {
    for (int input = 0; input < 5; ++input) {
      EXPECT_EQ(w.weight(output, input), weights[static_cast<std::size_t>(output * 5 + input)]);
    }
  }
  for (int i = 0; i < 5 * kPanelWidth; ++i) {
    if (i % kPanelWidth > 0) {
      EXPECT_EQ(w.panel(1)[i], 0.0f);
    }
  }
}

TEST(PackedMatrix, the_definition_is_one_product_per_element) {
  const auto weights = random_values(7 * 600, 1);
  const auto x = random_values(2 * 600, 2);
  const PackedMatrix w(weights.data(), 7, 600);
  const auto y = product_by_definition(x, 2, w);
  for (int row = 0; row < 2; ++row) {
    for (int output = 0; output < 7; ++output) {
      EXPECT_EQ(
          bits_of(y[static_cast<std::size_t>(row * 7 + output)]),
          bits_of(product_reference(x.data() + row * 600, weights.data() + output * 600, 600)));
    }
  }
}

TEST(PackedMatrix, multiply_has_the_bits_of_its_definition_for_every_tile_height) {
  const auto weights = random_values(161 * 300, 1);
  const PackedMatrix w(weights.data(), 161, 300);
  for (int rows = 1; rows <= 26; ++rows) {
    const auto x = random_values(rows * 300, static_cast<std::uint64_t>(rows));
    const auto expected = bits_of(product_by_definition(x, rows, w));
    for_every_target([&] { EXPECT_EQ(bits_of(product(x, rows, w)), expected) << rows; });
  }
}

TEST(PackedMatrix, multiply_has_the_bits_of_its_definition_for_random_shapes) {
  for (std::uint32_t trial = 0; trial < 40; ++trial) {
    const int inputs = random_int(1, trial % 4 == 0 ? 1100 : 90, 7, 3 * trial);
    const int outputs = random_int(1, trial % 3 == 0 ? 400 : 70, 7, 3 * trial + 1);
    const int rows = random_int(1, 14, 7, 3 * trial + 2);
    SCOPED_TRACE(testing::Message() << rows << " x " << inputs << " x " << outputs);
    const auto weights = random_values(outputs * inputs, trial);
    const auto x = random_values(rows * inputs, trial + 100);
    const PackedMatrix w(weights.data(), outputs, inputs);
    const auto expected = bits_of(product_by_definition(x, rows, w));
    for_every_target([&] { EXPECT_EQ(bits_of(product(x, rows, w)), expected); });
  }
}

TEST(PackedMatrix, a_row_has_the_same_bits_alone_and_at_any_position_of_a_batch) {
  constexpr int kInputs = 520;
  constexpr int kOutputs = 100;
  const auto weights = random_values(kOutputs * kInputs, 1);
  const auto row = random_values(kInputs, 2);
  const PackedMatrix w(weights.data(), kOutputs, kInputs);
  const auto alone = bits_of(product(row, 1, w));
  for (const int rows : {2, 3, 8, 13, 31}) {
    for (int position = 0; position < rows; ++position) {
      auto x = random_values(rows * kInputs, 3);
      std::copy(row.begin(), row.end(), x.begin() + position * kInputs);
      const auto y = bits_of(product(x, rows, w));
      const auto first = y.begin() + position * kOutputs;
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), first)) << position << " of " << rows;
    }
  }
}

TEST(PackedMatrix, multiply_is_close_to_the_exact_product) {
  constexpr int kSize = 700;
  const auto weights = random_values(kSize * kSize, 1);
  const auto x = random_values(kSize, 2);
  const PackedMatrix w(weights.data(), kSize, kSize);
  const auto y = product(x, 1, w);
  for (std::size_t output = 0; output < kSize; ++output) {
    double exact = 0.0;
    double magnitude = 0.0;
    for (std::size_t k = 0; k < kSize; ++k) {
      const double term = static_cast<double>(x[k]) * weights[output * kSize + k];
      exact += term;
      magnitude += std::fabs(term);
    }
    // At most 256 roundings in a chunk and 2 between chunks, each of 2^-24 of the terms' sum.
    EXPECT_NEAR(y[output], exact, 258 * 0x1p-24 * magnitude);
  }
}

TEST(PackedMatrix, multiply_accepts_unaligned_rows_and_writes_nothing_around_y) {
  constexpr float kGuard = 1234.5f;
  const auto weights = random_values(45 * 19, 1);
  const auto x = random_values(3 * 19 + 1, 2);
  const PackedMatrix w(weights.data(), 45, 19);
  for_every_target([&] {
    std::vector<float> y(3 * 45 + 2, kGuard);
    multiply(x.data() + 1, 3, w, y.data() + 1);
    EXPECT_EQ(y.front(), kGuard);
    EXPECT_EQ(y.back(), kGuard);
    const auto expected = product_by_definition({x.begin() + 1, x.end()}, 3, w);
    EXPECT_EQ(bits_of(std::vector<float>(y.begin() + 1, y.end() - 1)), bits_of(expected));
  });
}

TEST(PackedMatrix, no_inputs_give_zeros_and_no_outputs_or_rows_give_nothing) {
  const PackedMatrix no_inputs(nullptr, 3, 0);
  EXPECT_EQ(product({}, 2, no_inputs), std::vector<float>(6, 0.0f));
  const PackedMatrix no_outputs(nullptr, 0, 3);
  EXPECT_TRUE(product({1, 2, 3}, 1, no_outputs).empty());
  const auto weights = random_values(400, 1);
  EXPECT_TRUE(product({}, 0, PackedMatrix(weights.data(), 200, 2)).empty());
  EXPECT_EQ(PackedMatrix().outputs(), 0);
}

TEST(PackedMatrix, moves_without_copying_weights) {
  const auto weights = random_values(40, 1);
  PackedMatrix w(weights.data(), 4, 10);
  const float* panel = w.panel(0);
  const PackedMatrix moved = std::move(w);
  EXPECT_EQ(moved.panel(0), panel);
}

TEST(PackedMatrix, aborts_on_negative_sizes_in_every_build) {
  const float weight = 1.0f;
  EXPECT_DEATH(PackedMatrix(&weight, -1, 2), "outputs=-1 inputs=2");
  EXPECT_DEATH(multiply(&weight, -1, PackedMatrix(&weight, 1, 1), nullptr), "rows=-1");
}

}  // namespace
}  // namespace forge::numerics
