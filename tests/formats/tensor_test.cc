#include "forge/formats/tensor.h"

#include <gtest/gtest.h>

#include <limits>

namespace forge::formats {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
using Shape = std::vector<std::uint64_t>;

TEST(Tensor, types_of_weights_are_those_of_quant) {
  for (const quant::WeightType type : quant::kWeightTypes) {
    EXPECT_EQ(weight_type(element_type(type)), type);
    EXPECT_EQ(name_of(element_type(type)), quant::name_of(type));
  }
  EXPECT_EQ(element_type(quant::WeightType::mxfp4), ElementType::mxfp4);
  for (const ElementType type :
       {ElementType::u8, ElementType::i32, ElementType::i64, ElementType::f8_e4m3}) {
    EXPECT_EQ(weight_type(type), std::nullopt);
  }
  EXPECT_EQ(name_of(ElementType::u8), "U8");
  EXPECT_EQ(name_of(ElementType::i32), "I32");
  EXPECT_EQ(name_of(ElementType::i64), "I64");
  EXPECT_EQ(name_of(ElementType::f8_e4m3), "F8_E4M3");
  EXPECT_EQ(bytes_of(ElementType::f8_e4m3, Shape{3, 5}), 15u);
}

TEST(Tensor, elements_are_the_product_of_the_shape) {
  EXPECT_EQ(elements_of(Shape{}), 1u);
  EXPECT_EQ(elements_of(Shape{3, 5, 7}), 105u);
  EXPECT_EQ(elements_of(Shape{0, kMost, kMost}), 0u);
  EXPECT_EQ(elements_of(Shape{kMost, 1}), kMost);
  EXPECT_EQ(elements_of(Shape{kMost, 2}), std::nullopt);
  EXPECT_EQ(elements_of(Shape{1ULL << 32, 1ULL << 32}), std::nullopt);
  EXPECT_EQ((Tensor{.name = "a", .shape = {3, 5}}.elements()), 15u);
}

TEST(Tensor, bytes_follow_from_type_and_shape) {
  const Shape shape = {2, 256};
  const std::vector<std::pair<ElementType, std::uint64_t>> bytes = {
      {ElementType::f32, 2048}, {ElementType::f16, 1024}, {ElementType::bf16, 1024},
      {ElementType::i8, 512},   {ElementType::u8, 512},   {ElementType::i32, 2048},
      {ElementType::i64, 4096}, {ElementType::q8_0, 544}, {ElementType::q4_0, 288},
      {ElementType::q5_0, 352}, {ElementType::q5_1, 384}, {ElementType::q4_k, 288},
      {ElementType::q5_k, 352}, {ElementType::q6_k, 420}};
  for (const auto& [type, expected] : bytes) {
    EXPECT_EQ(bytes_of(type, shape), expected) << name_of(type);
  }
  EXPECT_EQ(bytes_of(ElementType::f32, Shape{}), 4u);
  EXPECT_EQ(bytes_of(ElementType::f32, Shape{0, 7}), 0u);
  EXPECT_EQ(bytes_of(ElementType::q4_0, Shape{0, 32}), 0u);
}

TEST(Tensor, bytes_that_cannot_be_counted_are_none) {
  EXPECT_EQ(bytes_of(ElementType::u8, Shape{kMost}), kMost);
  EXPECT_EQ(bytes_of(ElementType::i32, Shape{1ULL << 62}), std::nullopt);
  EXPECT_EQ(bytes_of(ElementType::f32, Shape{1ULL << 62}), std::nullopt);
  EXPECT_EQ(bytes_of(ElementType::u8, Shape{1ULL << 32, 1ULL << 32}), std::nullopt);
}

TEST(Tensor, rows_are_whole_blocks) {
  EXPECT_EQ(bytes_of(ElementType::q8_0, Shape{32, 31}), std::nullopt);
  EXPECT_EQ(bytes_of(ElementType::q8_0, Shape{31, 32}), 31u * 34);
  EXPECT_EQ(bytes_of(ElementType::q4_k, Shape{256, 32}), std::nullopt);
  EXPECT_EQ(bytes_of(ElementType::q8_0, Shape{}), std::nullopt);
}

TEST(Tensor, is_shown_as_type_and_shape) {
  EXPECT_EQ(to_string(Tensor{.name = "a", .type = ElementType::q4_k, .shape = {512, 256}}),
            "Q4_K[512, 256]");
  EXPECT_EQ(to_string(ElementType::f32, Shape{}), "F32[]");
}

TEST(TensorDeathTest, a_shape_that_nobody_checked_is_a_programmers_error) {
  const Tensor tensor = {.name = "a", .shape = {kMost, 2}};
  EXPECT_DEATH(static_cast<void>(tensor.elements()), "18446744073709551615, 2");
}

}  // namespace
}  // namespace forge::formats
