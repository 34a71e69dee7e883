#include "forge/quant/weight_type.h"

#include <gtest/gtest.h>

#include <cctype>
#include <limits>
#include <string>

namespace forge::quant {
namespace {

TEST(WeightType, names_are_read_back_in_any_case_of_letters) {
  for (const WeightType type : kWeightTypes) {
    EXPECT_EQ(weight_type(name_of(type)), type);
    std::string lower(name_of(type));
    for (char& c : lower) c = static_cast<char>(std::tolower(c));
    EXPECT_EQ(weight_type(lower), type);
  }
  EXPECT_EQ(name_of(WeightType::q4_k), "Q4_K");
}

TEST(WeightType, other_names_are_none) {
  for (const char* name : {"", "F", "F320", " F32", "Q8_1", "Q4K"}) {
    EXPECT_EQ(weight_type(name), std::nullopt) << name;
  }
}

TEST(WeightType, bytes_are_those_of_whole_blocks) {
  EXPECT_EQ(bytes_of(WeightType::f32, 3), 12u);
  EXPECT_EQ(bytes_of(WeightType::bf16, 3), 6u);
  EXPECT_EQ(bytes_of(WeightType::i8, 3), 3u);
  EXPECT_EQ(bytes_of(WeightType::q8_0, 64), 68u);
  EXPECT_EQ(bytes_of(WeightType::q4_0, 64), 36u);
  EXPECT_EQ(bytes_of(WeightType::q5_0, 64), 44u);
  EXPECT_EQ(bytes_of(WeightType::q5_1, 64), 48u);
  EXPECT_EQ(bytes_of(WeightType::q4_k, 2048), 1152u);
  EXPECT_EQ(bytes_of(WeightType::q5_k, 2048), 1408u);
  EXPECT_EQ(bytes_of(WeightType::q6_k, 2048), 1680u);
  EXPECT_EQ(bytes_of(WeightType::q4_1, 64), 40u);
  EXPECT_EQ(bytes_of(WeightType::q2_k, 2048), 672u);
  EXPECT_EQ(bytes_of(WeightType::q3_k, 2048), 880u);
  EXPECT_EQ(bytes_of(WeightType::iq4_nl, 64), 36u);
  EXPECT_EQ(bytes_of(WeightType::iq4_xs, 2048), 1088u);
  EXPECT_EQ(bytes_of(WeightType::mxfp4, 64), 34u);
  for (const WeightType type : kWeightTypes) EXPECT_EQ(bytes_of(type, 0), 0u);
}

TEST(WeightType, a_part_of_a_block_has_no_bytes) {
  EXPECT_EQ(bytes_of(WeightType::q8_0, 33), std::nullopt);
  EXPECT_EQ(bytes_of(WeightType::q4_k, 128), std::nullopt);
}

TEST(WeightType, bytes_that_a_size_cannot_say_are_none) {
  constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(bytes_of(WeightType::i8, kMax), kMax);
  EXPECT_EQ(bytes_of(WeightType::f32, kMax / 4), kMax / 4 * 4);
  EXPECT_EQ(bytes_of(WeightType::f32, kMax / 4 + 1), std::nullopt);
  // 34 bytes for 32 numbers: fewer numbers than bytes.
  constexpr std::size_t kBlocks = kMax / 34;
  EXPECT_EQ(bytes_of(WeightType::q8_0, kBlocks * 32), kBlocks * 34);
  EXPECT_EQ(bytes_of(WeightType::q8_0, (kBlocks + 1) * 32), std::nullopt);
}

}  // namespace
}  // namespace forge::quant
