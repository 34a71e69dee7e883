#include "forge/quant/dequantize.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "forge/numerics/half.h"
#include "forge/quant/block_formats.h"
#include "quant/random_blocks.h"

namespace forge::quant {
namespace {

template <class Block>
float decode_stored(const std::byte* stored, std::size_t index) {
  Block block;
  std::memcpy(&block, stored + index / Block::kElements * sizeof block, sizeof block);
  return decode(block, static_cast<int>(index % Block::kElements));
}

/// Number `index` of a stored row, by the definitions of block_formats.h and numerics/half.h.
float decode_stored(WeightType type, const std::byte* stored, std::size_t index) {
  switch (type) {
    case WeightType::q8_0:
      return decode_stored<BlockQ80>(stored, index);
    case WeightType::q4_0:
      return decode_stored<BlockQ40>(stored, index);
    case WeightType::q5_0:
      return decode_stored<BlockQ50>(stored, index);
    case WeightType::q5_1:
      return decode_stored<BlockQ51>(stored, index);
    case WeightType::q4_k:
      return decode_stored<BlockQ4K>(stored, index);
    case WeightType::q5_k:
      return decode_stored<BlockQ5K>(stored, index);
    case WeightType::q6_k:
      return decode_stored<BlockQ6K>(stored, index);
    case WeightType::q4_1:
      return decode_stored<BlockQ41>(stored, index);
    case WeightType::q2_k:
      return decode_stored<BlockQ2K>(stored, index);
    case WeightType::q3_k:
      return decode_stored<BlockQ3K>(stored, index);
    case WeightType::iq4_nl:
      return decode_stored<BlockIQ4NL>(stored, index);
    case WeightType::iq4_xs:
      return decode_stored<BlockIQ4XS>(stored, index);
    default:
      return decode_stored<BlockMXFP4>(stored, index);
  }
}

/// The same bits, zeros' signs included; any NaN is as good as another.
bool same(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

std::vector<float> dequantized(WeightType type, const std::byte* stored, std::size_t count) {
  std::vector<float> numbers(count, -1.0F);
  dequantize(type, stored, count, numbers.data());
  return numbers;
}

void expect_as_decoded(WeightType type, const Bytes& row) {
  const std::size_t count = row.size() / block_bytes(type) * block_elements(type);
  const auto numbers = dequantized(type, row.data(), count);
  for (std::size_t i = 0; i < count; ++i) {
    const float expected = decode_stored(type, row.data(), i);
    ASSERT_TRUE(same(numbers[i], expected))
        << name_of(type) << " number " << i << ": " << numbers[i] << ", decoded " << expected;
  }
}

RC_GTEST_PROP(Dequantize, is_decode_number_by_number, ()) {
  const auto type =
      *rc::gen::elementOf(std::vector(std::begin(kBlockTypes), std::end(kBlockTypes)));
  const auto blocks = *rc::gen::inRange<std::size_t>(0, 6);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const Bytes row = random_bytes(blocks * block_bytes(type), seed);
  const std::size_t count = blocks * block_elements(type);
  const auto numbers = dequantized(type, row.data(), count);
  for (std::size_t i = 0; i < count; ++i) {
    RC_ASSERT(same(numbers[i], decode_stored(type, row.data(), i)));
  }
}

TEST(Dequantize, is_decode_for_scales_that_are_zero_subnormal_infinite_or_no_number) {
  for (const WeightType type : kBlockTypes) {
    for (const std::uint16_t special : kSpecialScales) {
      for (const std::size_t place : places_of_scales(type)) {
        Bytes row = random_bytes(block_bytes(type), special);
        std::memcpy(&row[place], &special, sizeof special);
        expect_as_decoded(type, row);
      }
    }
  }
}

TEST(Dequantize, is_decode_for_blocks_of_one_byte_over_and_over) {
  for (const WeightType type : kBlockTypes) {
    for (int byte = 0; byte < 256; ++byte) {
      expect_as_decoded(type, Bytes(2 * block_bytes(type), static_cast<std::byte>(byte)));
    }
  }
}

TEST(Dequantize, reads_rows_at_any_address) {
  for (const WeightType type : kWeightTypes) {
    const std::size_t count = 2 * block_elements(type);
    const std::size_t size = 2 * block_bytes(type);
    const Bytes aligned = random_bytes(size, 7);
    const auto expected = dequantized(type, aligned.data(), count);
    for (std::size_t shift = 1; shift < 8; ++shift) {
      Bytes shifted(shift);
      shifted.insert(shifted.end(), aligned.begin(), aligned.end());
      const auto numbers = dequantized(type, shifted.data() + shift, count);
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_TRUE(same(numbers[i], expected[i])) << name_of(type) << " at " << shift;
      }
    }
  }
}

TEST(Dequantize, plain_types_are_widened_exactly) {
  const float floats[] = {1.5F, -0.0F, 1e-42F};
  const auto* stored = reinterpret_cast<const std::byte*>(floats);
  EXPECT_EQ(dequantized(WeightType::f32, stored, 3), (std::vector<float>{1.5F, -0.0F, 1e-42F}));

  const std::byte bytes[] = {std::byte{0}, std::byte{127}, std::byte{128}, std::byte{255}};
  EXPECT_EQ(dequantized(WeightType::i8, bytes, 4), (std::vector<float>{0, 127, -128, -1}));

  Bytes halves(2 * 65536);
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    halves[2 * bits] = static_cast<std::byte>(bits);
    halves[2 * bits + 1] = static_cast<std::byte>(bits >> 8);
  }
  const auto f16 = dequantized(WeightType::f16, halves.data(), 65536);
  const auto bf16 = dequantized(WeightType::bf16, halves.data(), 65536);
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    ASSERT_TRUE(same(f16[i], to_float(numerics::F16{bits}))) << i;
    ASSERT_TRUE(same(bf16[i], to_float(numerics::BF16{bits}))) << i;
  }
}

TEST(Dequantize, a_row_of_no_numbers_writes_nothing) {
  for (const WeightType type : kWeightTypes) dequantize(type, nullptr, 0, nullptr);
}

TEST(DequantizeDeathTest, a_part_of_a_block_stops_the_program) {
  float out[32];
  const std::byte stored[34] = {};
  EXPECT_DEATH(dequantize(WeightType::q8_0, stored, 31, out), "count=31 type=Q8_0");
}

}  // namespace
}  // namespace forge::quant
