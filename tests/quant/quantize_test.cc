#include "forge/quant/quantize.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "forge/numerics/half.h"
#include "forge/quant/dequantize.h"
#include "quant/random_blocks.h"
#include "quant/random_rows.h"

namespace forge::quant {
namespace {

using Row = std::vector<float>;

Bytes stored(WeightType type, const Row& row) {
  Bytes bytes(bytes_of(type, row.size()).value());
  quantize(type, row, bytes.data());
  return bytes;
}

Row read_back(WeightType type, const Row& row) {
  Row read(row.size());
  dequantize(type, stored(type, row).data(), row.size(), read.data());
  return read;
}

float largest_magnitude(std::span<const float> x) {
  float largest = 0;
  for (const float number : x) largest = std::max(largest, std::fabs(number));
  return largest;
}

double range_of(std::span<const float> block) {
  const auto [low, high] = std::ranges::minmax(block);
  return static_cast<double>(high) - static_cast<double>(low);
}

/// Widest range of a group of `size`, 0 included.
double widest_range(std::span<const float> block, std::size_t size) {
  double widest = 0;
  for (std::size_t first = 0; first < block.size(); first += size) {
    const auto group = block.subspan(first, size);
    const auto [low, high] = std::ranges::minmax(group);
    widest = std::max(widest, std::max<double>(high, 0) - std::min<double>(low, 0));
  }
  return widest;
}

/// The bound that quantize.h states for the rms error of a block, or for the largest of Q8_0: half
/// a step of the grid that covers the widest group, since the search starts with that grid and
/// keeps only what is better, and what the rounding of scales adds. That moves a number by at most
/// half a unit of its scale for each code. Q6_K, where the unit is 1/127 of a step of about A / 31:
/// 32 * A / 31 / 254 < A / 200. Q4_K and Q5_K, where it is 1/63 of the largest step and the largest
/// offset: all steps and the offset come to 2 W in a grid that covers the group, and least squares
/// may stretch it by a quarter; 2.5 W / 126 < W / 50. Q2_K, where it is 1/15: 2.5 W / 30. Q3_K,
/// where the unit is 1/31 of a step of about A / 3: 4 * A / 3 / 62 < A / 46. IQ4: the widest gap in
/// a table that reaches A on both sides is 24 of 113 of A, half of it below A / 9, and in IQ4_XS
/// the unit is 1/31 of A / 113: 127 * A / 113 / 62 < A / 55. MXFP4: 8 becomes 6.
double bound(WeightType type, std::span<const float> block) {
  const double a = largest_magnitude(block);
  const double w = widest_range(block, type == WeightType::q2_k ? 16 : 32);
  switch (type) {
    case WeightType::q8_0:
      return a / 254;
    case WeightType::q4_0:
      return a / 14;
    case WeightType::q5_0:
      return a / 30;
    case WeightType::q5_1:
      return range_of(block) / 62;
    case WeightType::q4_k:
      return w / 30 + w / 50;
    case WeightType::q5_k:
      return w / 62 + w / 50;
    case WeightType::q4_1:
      return range_of(block) / 30;
    case WeightType::q2_k:
      return w / 6 + w / 12;
    case WeightType::q3_k:
      return a / 6 + a / 46;
    case WeightType::iq4_nl:
      return a / 9;
    case WeightType::iq4_xs:
      return a / 9 + a / 55;
    case WeightType::mxfp4:
      return a / 4;
    default:
      return a / 62 + a / 200;
  }
}

/// Rows with what makes quantizing hard: outliers, one sign, constants, zeros, and magnitudes from
/// nothing to 50 * 105 * 2^4, which is within the reach of every format.
rc::Gen<Row> any_row(std::size_t count) {
  return rc::gen::exec([count] {
    Row row = gaussian_row(count, *rc::gen::arbitrary<std::uint64_t>());
    const float shift = *rc::gen::element(0.0F, 0.0F, 3.0F, -3.0F, 100.0F, -100.0F);
    const float spread = *rc::gen::element(1.0F, 1.0F, 0.01F, 0.0F);
    for (float& number : row) number = number * spread + shift;
    const auto sparse = *rc::gen::inRange<std::size_t>(1, 40);
    for (std::size_t i = 0; i < count; ++i) {
      if (i % sparse != 0) row[i] = 0.0F;
    }
    const auto index = rc::gen::inRange<std::size_t>(0, count);
    for (const auto i : *rc::gen::container<std::set<std::size_t>>(index)) row[i] *= 50.0F;
    return scaled(row, std::ldexp(1.0F, *rc::gen::inRange(-30, 5)));
  });
}

RC_GTEST_PROP(Quantize, keeps_the_bounds_of_its_header, ()) {
  const auto type =
      *rc::gen::elementOf(std::vector(std::begin(kBlockTypes), std::end(kBlockTypes)));
  const Row row = *any_row(block_elements(type));
  Bytes bytes(block_bytes(type));
  const QuantizationError error = quantize(type, row, bytes.data());
  const double found = type == WeightType::q8_0 ? error.max_error : error.rms();
  RC_LOG() << name_of(type) << ": " << found << " of " << bound(type, row) << "\n";
  RC_ASSERT(found <= bound(type, row) * (1 + 0x1p-10) + largest_magnitude(row) * 0x1p-11 + 0x1p-20);
  RC_ASSERT(error.relative() <= 1.0);  // as of zeros
}

RC_GTEST_PROP(Quantize, stores_finite_numbers_whatever_the_row_is, ()) {
  const auto type = *rc::gen::elementOf(std::vector(kWeightTypes.begin(), kWeightTypes.end()));
  RC_PRE(type != WeightType::i8);
  Row row(256);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  for (std::uint32_t i = 0; i < row.size(); ++i) {  // every exponent, both signs
    const std::uint32_t bits = numerics::philox({{i, 0, 0, 0}}, seed).x[0];
    row[i] = numerics::float_of((bits & 0x80000000u) | (bits & 0x7fffffffu) % 0x7f800000u);
  }
  const Row read = read_back(type, row);
  RC_ASSERT(std::ranges::all_of(read, [](float x) { return std::isfinite(x); }));
  Bytes bytes(bytes_of(type, row.size()).value());
  RC_ASSERT(quantize(type, row, bytes.data()).relative() <= 1.0);
}

TEST(Quantize, plain_halves_are_rounded_to_nearest_and_stay_finite) {
  const Row row = {0.1F, -3.0F, 65519.0F, 65520.0F, -1e30F, 3.4e38F, 1e-9F};
  const Row f16 = read_back(WeightType::f16, row);
  const Row bf16 = read_back(WeightType::bf16, row);
  EXPECT_EQ(f16, (Row{to_float(numerics::to_f16(0.1F)), -3.0F, 65504.0F, 65504.0F, -65504.0F,
                      65504.0F, 0.0F}));
  EXPECT_EQ(bf16[0], to_float(numerics::to_bf16(0.1F)));
  EXPECT_EQ(bf16[4], to_float(numerics::to_bf16(-1e30F)));
  EXPECT_EQ(bf16[5], 0x1.fep+127F);
  EXPECT_EQ(read_back(WeightType::f32, row), row);
}

TEST(Quantize, a_number_between_f16s_goes_to_the_nearer) {
  // 1 + 2^-11 is the tie between 1 and the next f16, 1 + 2^-10.
  EXPECT_EQ(read_back(WeightType::f16, {0x1.002p+0F, 0x1.00201p+0F}), (Row{1.0F, 0x1.004p+0F}));
}

TEST(Quantize, zeros_are_stored_as_zeros) {
  for (const WeightType type : kBlockTypes) {
    EXPECT_EQ(read_back(type, Row(256)), Row(256)) << name_of(type);
    EXPECT_EQ(read_back(type, Row(256, -0.0F)), Row(256)) << name_of(type);
  }
}

// Large enough for scales that are normal f16s.
TEST(Quantize, a_constant_row_is_as_exact_as_its_f16_scale) {
  for (const WeightType type : kF16BlockTypes) {
    for (const float constant : {1.0F, -1.0F, 0.7F, -37.1F, 1234.5F}) {
      for (const float x : read_back(type, Row(256, constant))) {
        EXPECT_NEAR(x, constant, std::fabs(constant) * 0x1p-11F) << name_of(type);
      }
    }
  }
}

TEST(Quantize, a_single_outlier_is_kept_within_half_a_step) {
  for (const WeightType type : kF16BlockTypes) {
    Row row = scaled(gaussian_row(256, 1), 0.01F);
    row[77] = 10.0F;
    row[200] = -10.0F;
    const Row read = read_back(type, row);
    EXPECT_NEAR(read[77], 10.0F, 10.0F / 14) << name_of(type);
    EXPECT_NEAR(read[200], -10.0F, 10.0F / 14) << name_of(type);
  }
}

TEST(Quantize, numbers_beyond_the_reach_of_f16_scales_become_the_outermost) {
  for (const WeightType type : kF16BlockTypes) {
    const Row row = scaled(gaussian_row(256, 2), 1e30F);
    const Row read = read_back(type, row);
    const float reach = largest_magnitude(read);
    EXPECT_GE(reach, 65504.0F * 7) << name_of(type);
    EXPECT_LE(reach, 65504.0F * 127 * 32) << name_of(type);
    for (std::size_t i = 0; i < row.size(); ++i) {
      EXPECT_GE(read[i] * row[i], 0.0F) << name_of(type) << ": a sign changed";
    }
  }
}

TEST(Quantize, numbers_below_the_smallest_f16_scale_become_zeros) {
  for (const WeightType type : kF16BlockTypes) {
    EXPECT_EQ(read_back(type, scaled(gaussian_row(256, 3), 1e-30F)), Row(256)) << name_of(type);
    EXPECT_EQ(read_back(type, Row(256, std::nextafter(0x1p-25F, 0.0F))), Row(256)) << name_of(type);
    // Twice as large, the smallest scale there is stores them exactly.
    EXPECT_EQ(read_back(type, Row(256, 0x1p-24F)), Row(256, 0x1p-24F)) << name_of(type);
  }
}

// Of E2M1 in the best of two powers of two.
TEST(Quantize, mxfp4_keeps_its_own_numbers_and_rounds_others_to_nearest) {
  Row row;
  for (const float x : {0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F}) {
    for (const float sign : {1.0F, -1.0F}) row.push_back(sign * x);
  }
  row.resize(32);
  EXPECT_EQ(read_back(WeightType::mxfp4, row), row);
  for (const int exponent : {-127, -126, -30, 100, 124}) {
    const Row large = scaled(row, std::ldexp(1.0F, exponent));
    EXPECT_EQ(read_back(WeightType::mxfp4, large), large) << exponent;
  }
  row[0] = 2.6F;
  row[1] = -0.2F;
  const Row read = read_back(WeightType::mxfp4, row);
  EXPECT_EQ(read[0], 3.0F);
  EXPECT_EQ(read[1], 0.0F);
}

Row importance_of_some(std::size_t count) {
  Row importance(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    importance[i] = numerics::philox({{i, 1, 0, 0}}, 9).x[0] % 8 == 0 ? 30.0F : 0.1F;
  }
  return importance;
}

TEST(Quantize, numbers_that_are_alike_in_importance_are_stored_as_if_there_were_none) {
  for (const WeightType type : kBlockTypes) {
    const Row row = gaussian_row(1024, 6);
    Bytes bytes(bytes_of(type, row.size()).value());
    quantize(type, row, bytes.data(), Row(row.size(), 1.0F));
    EXPECT_EQ(bytes, stored(type, row)) << name_of(type);
    quantize(type, row, bytes.data(), Row(row.size(), 4.0F));
    EXPECT_EQ(bytes, stored(type, row)) << name_of(type);
  }
}

TEST(Quantize, errors_of_important_numbers_become_smaller) {
  for (const WeightType type : kBlockTypes) {
    if (type == WeightType::q8_0) continue;  // which searches for nothing
    const Row row = gaussian_row(1 << 14, 6);
    const Row importance = importance_of_some(row.size());
    const auto error_of = [&](const Row& by) {
      Bytes bytes(bytes_of(type, row.size()).value());
      quantize(type, row, bytes.data(), by);
      Row read(row.size());
      dequantize(type, bytes.data(), row.size(), read.data());
      double sum = 0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const double error = static_cast<double>(row[i]) - read[i];
        sum += importance[i] * error * error;
      }
      return sum;
    };
    EXPECT_LT(error_of(importance), 0.99 * error_of({})) << name_of(type);
  }
}

TEST(Quantize, a_block_does_not_depend_on_its_place) {
  for (const WeightType type : kBlockTypes) {
    const std::size_t elements = block_elements(type);
    const Row row = gaussian_row(5 * 256, 4);
    const Bytes whole = stored(type, row);
    Bytes pieces;
    for (std::size_t first = 0; first < row.size(); first += elements) {
      const Bytes block = stored(type, {row.begin() + first, row.begin() + first + elements});
      pieces.insert(pieces.end(), block.begin(), block.end());
    }
    EXPECT_EQ(whole, pieces) << name_of(type);

    Bytes shifted(whole.size() + 2, std::byte{0xaa});
    quantize(type, row, shifted.data() + 1);
    EXPECT_TRUE(std::equal(whole.begin(), whole.end(), shifted.begin() + 1)) << name_of(type);
    EXPECT_EQ(shifted.front(), std::byte{0xaa});
    EXPECT_EQ(shifted.back(), std::byte{0xaa});
  }
}

TEST(Quantize, a_row_of_no_numbers_has_no_error) {
  for (const WeightType type : kWeightTypes) {
    const QuantizationError error = quantize(type, {}, nullptr);
    EXPECT_EQ(error.count, 0u);
    EXPECT_EQ(error.rms(), 0.0);
    EXPECT_EQ(error.relative(), 0.0);
  }
}

TEST(QuantizeDeathTest, what_cannot_be_stored_stops_the_program) {
  std::byte bytes[256];
  const Row row = {1.0F, 2.0F};
  EXPECT_DEATH(quantize(WeightType::i8, row, bytes), "type=I8");
  EXPECT_DEATH(quantize(WeightType::q4_0, row, bytes), "count=2 type=Q4_0");
  const Row infinite = {1.0F, -INFINITY};
  EXPECT_DEATH(quantize(WeightType::f16, infinite, bytes), "infinity or NaN from number 0");
}

}  // namespace
}  // namespace forge::quant
