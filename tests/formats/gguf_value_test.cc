#include "forge/formats/gguf_value.h"

#include <gtest/gtest.h>

#include <array>

namespace forge::formats {
namespace {

template <class T, std::size_t N>
GgufNumbers numbers(GgufType type, const std::array<T, N>& elements) {
  return {type, std::as_bytes(std::span(elements))};
}

TEST(GgufValue, its_index_is_the_type_of_the_file) {
  EXPECT_EQ(type_of(GgufValue(std::uint8_t{1})), GgufType::u8);
  EXPECT_EQ(type_of(GgufValue(std::int32_t{1})), GgufType::i32);
  EXPECT_EQ(type_of(GgufValue(1.0f)), GgufType::f32);
  EXPECT_EQ(type_of(GgufValue(true)), GgufType::boolean);
  EXPECT_EQ(type_of(GgufValue("a literal")), GgufType::text);
  EXPECT_EQ(type_of(GgufValue(GgufArray(GgufTexts{"a"}))), GgufType::array);
  EXPECT_EQ(type_of(GgufValue(std::uint64_t{1})), GgufType::u64);
  EXPECT_EQ(type_of(GgufValue(1.0)), GgufType::f64);
  EXPECT_EQ(static_cast<int>(GgufType::f64), 12) << "as GGUF numbers it";
}

TEST(GgufValue, is_shown_with_its_type) {
  EXPECT_EQ(to_string(GgufValue(std::uint8_t{7})), "u8 7");
  EXPECT_EQ(to_string(GgufValue(std::int64_t{-7})), "i64 -7");
  EXPECT_EQ(to_string(GgufValue(0.1f)), "f32 0.1");
  EXPECT_EQ(to_string(GgufValue(1e300)), "f64 1e+300");
  EXPECT_EQ(to_string(GgufValue(false)), "boolean false");
  EXPECT_EQ(to_string(GgufValue("tab\t")), "text 'tab\\x09'");
  EXPECT_EQ(to_string(GgufValue(GgufArray(GgufTexts{"a", "b"}))), "array of 2 text");
  const std::string text(65, 'x');
  EXPECT_EQ(to_string(GgufValue(std::string_view(text))), "text '" + std::string(64, 'x') + "...'");
}

TEST(GgufNumbers, elements_of_every_type_at_any_alignment) {
  // Each array starts at an odd address.
  std::array<std::byte, 17> bytes;
  bytes.fill(std::byte{0xff});
  const auto of = [&](GgufType type) {
    return GgufNumbers(type, std::span(bytes).subspan(1, 2 * bytes_of(type)));
  };
  for (const GgufType type : {GgufType::i8, GgufType::i16, GgufType::i32, GgufType::i64}) {
    EXPECT_EQ(of(type).size(), 2u);
    EXPECT_EQ(of(type).integer(1), -1) << name_of(type);
    EXPECT_EQ(of(type).number(1), -1.0) << name_of(type);
  }
  EXPECT_EQ(of(GgufType::u8).integer(1), 0xff);
  EXPECT_EQ(of(GgufType::u16).integer(1), 0xffff);
  EXPECT_EQ(of(GgufType::u32).integer(1), 0xffffffff);
  EXPECT_EQ(of(GgufType::u64).number(1), 0x1p64) << "rounded";
  const std::array floats = {0.5f, -2.0f};
  EXPECT_EQ(numbers(GgufType::f32, floats).number(1), -2.0);
  const std::array doubles = {0.1};
  EXPECT_EQ(numbers(GgufType::f64, doubles).number(0), 0.1);
  const std::array<std::uint8_t, 2> booleans = {1, 0};
  EXPECT_EQ(numbers(GgufType::boolean, booleans).integer(0), 1);
  EXPECT_EQ(numbers(GgufType::boolean, booleans).number(1), 0.0);
  EXPECT_FALSE(numbers(GgufType::boolean, booleans).has_integers());
}

using GgufNumbersDeathTest = ::testing::Test;

TEST(GgufNumbersDeathTest, misuse_is_a_programmer_error) {
  const std::array<std::uint64_t, 1> big = {std::uint64_t{1} << 63};
  EXPECT_DEATH(numbers(GgufType::u64, big).integer(0), "u64 element 0 is above 2\\^63 - 1");
  EXPECT_DEATH(numbers(GgufType::u64, big).integer(1), "index=1 size=1");
  EXPECT_DEATH(numbers(GgufType::f64, big).integer(0), "type=f64");
  EXPECT_DEATH(numbers(GgufType::text, big), "type=text");
  EXPECT_DEATH(GgufNumbers(GgufType::u64, std::as_bytes(std::span(big)).first(7)), "bytes=7");
}

}  // namespace
}  // namespace forge::formats
