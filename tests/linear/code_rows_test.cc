#include "code_rows.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "numerics/test_values.h"
#include "panels.h"

namespace forge::linear::codes {
namespace {

using Inputs = std::array<float, kGroup>;

Inputs all(float x) {
  Inputs inputs;
  inputs.fill(x);
  return inputs;
}

int code(const CodedGroup& group, int i) { return group.codes[i]; }

int sum_of_codes(const CodedGroup& group) {
  int sum = 0;
  for (int i = 0; i < kGroup; ++i) sum += code(group, i);
  return sum;
}

/// Any finite floats, all bits as likely.
rc::Gen<float> any_finite() {
  return rc::gen::suchThat(
      rc::gen::map(rc::gen::arbitrary<std::uint32_t>(),
                   [](std::uint32_t bits) { return numerics::float_of(bits); }),
      [](float x) { return std::isfinite(x); });
}

bool equal(const CodedGroup& a, const CodedGroup& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

RC_GTEST_PROP(CodeGroup, is_within_half_a_step, ()) {
  Inputs x;
  const float size = *rc::gen::element(1e-30F, 1.0F, 1e30F);
  for (float& number : x) number = size * static_cast<float>(*rc::gen::inRange(-9999, 10000));
  const CodedGroup group = code_group(x);
  for (int i = 0; i < kGroup; ++i) {
    const double step = group.scale;
    const double error = std::fabs(x[static_cast<std::size_t>(i)] - step * code(group, i));
    // x / dx is rounded before it is rounded to a whole number: 2^-24 of up to 127.
    RC_ASSERT(error <= step * (0.5 + 127 * 0x1p-24));
  }
  RC_ASSERT(group.scaled_sum == group.scale * static_cast<float>(sum_of_codes(group)));
  RC_ASSERT(group.bias == -128 * sum_of_codes(group));
  RC_ASSERT(group.biases[0] + group.biases[1] == group.bias);
}

TEST(CodeGroup, the_largest_is_127) {
  Inputs x = all(1.0F);
  x[3] = -5.0F;
  const CodedGroup group = code_group(x);
  EXPECT_EQ(group.scale, 5.0F / 127.0F);
  EXPECT_EQ(code(group, 3), -127);
  EXPECT_EQ(code(group, 0), 25);
}

TEST(CodeGroup, ties_go_to_even) {
  Inputs x = all(0.0F);
  x[0] = 127.0F;
  x[1] = 0.5F;
  x[2] = 1.5F;
  x[3] = -2.5F;
  const CodedGroup group = code_group(x);
  EXPECT_EQ(code(group, 1), 0);
  EXPECT_EQ(code(group, 2), 2);
  EXPECT_EQ(code(group, 3), -2);
}

TEST(CodeGroup, zeros_have_no_scale) {
  for (const float x : {0.0F, -0.0F, std::numeric_limits<float>::denorm_min()}) {
    const CodedGroup group = code_group(all(x));
    EXPECT_EQ(group.scale, 0.0F);
    EXPECT_EQ(group.scaled_sum, 0.0F);
    EXPECT_EQ(sum_of_codes(group), 0);
  }
}

TEST(CodeGroup, subnormal_steps_do_not_lead_out_of_range) {
  // The step is rounded to one unit, of which x are 190.
  const CodedGroup group = code_group(all(190 * std::numeric_limits<float>::denorm_min()));
  EXPECT_EQ(group.scale, std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(code(group, 0), 127);
}

TEST(CodeGroup, the_largest_floats_have_finite_sums) {
  const CodedGroup group = code_group(all(std::numeric_limits<float>::max()));
  EXPECT_EQ(code(group, 0), 127);
  EXPECT_TRUE(std::isfinite(group.scale));
  EXPECT_EQ(group.scaled_sum, group.scale * (32.0F * 127.0F));
}

RC_GTEST_PROP(CodeRows, are_the_groups_of_the_definition_on_every_target, ()) {
  const int rows = *rc::gen::oneOf(rc::gen::inRange(1, 5), rc::gen::inRange(63, 67));
  const int inputs = *rc::gen::inRange(1, 200);
  auto x = *rc::gen::container<std::vector<float>>(static_cast<std::size_t>(inputs), any_finite());
  x.resize(static_cast<std::size_t>(rows * inputs));
  for (std::size_t i = static_cast<std::size_t>(inputs); i < x.size(); ++i) {
    x[i] = x[i - static_cast<std::size_t>(inputs)] * 0.75F;
  }
  std::vector<std::int32_t> order;
  if (*rc::gen::arbitrary<bool>()) {
    for (int k = 0; k < inputs; ++k) order.push_back(inputs - 1 - k);
  }
  const int groups = group_count(inputs);
  numerics::for_every_target([&] {
    ProductScratch scratch;
    const Activations activations{x.data(), rows, inputs, order};
    prepare(activations, scratch);
    convert(activations, 0, rows, scratch);
    for (int row = 0; row < rows; ++row) {
      for (int g = 0; g < groups; ++g) {
        Inputs group = {};
        for (int i = 0; i < kGroup && kGroup * g + i < inputs; ++i) {
          const int k = order.empty() ? kGroup * g + i : inputs - 1 - (kGroup * g + i);
          group[static_cast<std::size_t>(i)] = x[static_cast<std::size_t>(row * inputs + k)];
        }
        const int first = row / kRowBlock * kRowBlock;
        const auto at = static_cast<std::size_t>(
            first * groups + g * std::min(kRowBlock, rows - first) + row - first);
        RC_ASSERT(equal(scratch.groups[at], code_group(group)));
      }
    }
  });
}

}  // namespace
}  // namespace forge::linear::codes
