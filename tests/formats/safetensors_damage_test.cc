// Files that are wrong, each in one way, and what the reader says about them.
#include <gtest/gtest.h>

#include "forge/formats/safetensors.h"
#include "formats/safetensors_bytes.h"

namespace forge::formats {
namespace {

using testing::member;
using testing::safetensors_bytes;
using testing::span_of;

/// "fine", or the error.
std::string outcome(const std::string& file) {
  std::map<std::string, std::string> metadata;
  const auto tensors = parse_safetensors(span_of(file), "f", metadata);
  return tensors ? "fine" : to_string(tensors.error());
}

std::string outcome_of_header(const std::string& header, std::size_t data_bytes = 0) {
  return outcome(safetensors_bytes(header, std::string(data_bytes, 'd')));
}

/// A file with one tensor 'a', and with eight bytes of data, as most rows of the tables have it.
std::string outcome_of_tensor(const std::string& dtype, const std::string& shape,
                              const std::string& offsets) {
  return outcome_of_header("{" + member("a", dtype, shape, offsets) + "}", 8);
}
std::string outcome_of_fields(const std::string& fields) {
  return outcome_of_header("{\"a\":{" + fields + "}}", 8);
}

constexpr const char* kIntegers = "; accepted are integers in 0 .. 18446744073709551615";
constexpr const char* kDtypes = "; accepted are F32, F16, BF16, I8, U8, I32, I64, F8_E4M3";

TEST(SafeTensorsDamage, right_files_are_read) {
  EXPECT_EQ(outcome_of_header("{}"), "fine");
  EXPECT_EQ(outcome_of_header("{}   \n"), "fine");
  EXPECT_EQ(outcome_of_header("{\"__metadata__\":{}}"), "fine");
  EXPECT_EQ(outcome_of_tensor("F32", "[2]", "[0,8]"), "fine");
  EXPECT_EQ(outcome_of_header("{" + member("b", "U8", "[1]", "[8,9]") + "," +
                                  member("c", "U8", "[0,3]", "[8,8]") + "," +
                                  member("a", "I64", "[]", "[0,8]") + "}",
                              9),
            "fine")
      << "in the order of names, not of offsets; a tensor of no elements between the others";
}

TEST(SafeTensorsDamage, a_length_that_the_file_does_not_have) {
  EXPECT_EQ(outcome(""), "f: the file has 0 bytes; the length of the header alone takes 8");
  EXPECT_EQ(outcome("1234567"), "f: the file has 7 bytes; the length of the header alone takes 8");
  EXPECT_EQ(outcome(std::string("\3\0\0\0\0\0\0\0{}", 10)),
            "f: the header's length is 3 bytes; accepted are 2 .. 100000000, and the file has 2 "
            "more");
  EXPECT_EQ(outcome(std::string(8, '\xff') + "{}"),
            "f: the header's length is 18446744073709551615 bytes; accepted are 2 .. 100000000, "
            "and the file has 2 more");
  EXPECT_EQ(outcome(safetensors_bytes("")),
            "f: at byte 8: not a SafeTensors file: the header starts with ''; accepted is '{'");
}

TEST(SafeTensorsDamage, a_header_that_is_too_long) {
  std::string file = safetensors_bytes("{}");
  file.resize(8 + SafeTensors::kHeaderBytesMax + 1, ' ');
  const std::uint64_t length = SafeTensors::kHeaderBytesMax + 1;
  for (std::size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(length >> (8 * i) & 0xff);
  EXPECT_EQ(outcome(file),
            "f: the header's length is 100000001 bytes; accepted are 2 .. 100000000, and the file "
            "has 100000001 more");
}

TEST(SafeTensorsDamage, a_file_of_another_kind) {
  EXPECT_EQ(outcome_of_header("GGUF"),
            "f: at byte 8: not a SafeTensors file: the header starts with 'G'; accepted is '{'");
  EXPECT_EQ(outcome_of_header(" {}"),
            "f: at byte 8: not a SafeTensors file: the header starts with ' '; accepted is '{'");
  EXPECT_EQ(outcome_of_header("\xef\xbb\xbf{}"),
            "f: at byte 8: not a SafeTensors file: the header starts with '\\xef'; accepted is "
            "'{'");
}

TEST(SafeTensorsDamage, a_header_that_is_no_json) {
  const std::string wrong = "is not JSON in or right after ";
  EXPECT_EQ(outcome_of_header("{"), "f: at byte 9: " + wrong + "'{'");
  EXPECT_EQ(outcome_of_header("{}}"), "f: at byte 10: " + wrong + "'{}}'");
  EXPECT_EQ(outcome_of_header("{\"a\" 3}"), "f: at byte 13: " + wrong + "'{\"a\" 3'");
  EXPECT_EQ(outcome_of_header("{\"\xff\":{}}"), "f: at byte 10: " + wrong + "'{\"\\xff'");
  EXPECT_EQ(
      outcome_of_tensor("F32", "[1e999]", "[0,8]"),
      "f: at byte 41: the number 1e999 is out of range; accepted are those up to 1.797e+308 in "
      "size");
  EXPECT_EQ(outcome_of_header(std::string("{}\0junk", 7)),
            "f: at byte 10: is not JSON: a zero byte");
}

TEST(SafeTensorsDamage, what_should_be_an_object) {
  EXPECT_EQ(outcome_of_header("{\"a\":3}"),
            "f: tensor 'a': is 3; accepted is an object of dtype, shape and data_offsets");
  EXPECT_EQ(outcome_of_header("{\"a\":" + std::string(100000, '[')),
            "f: tensor 'a': is a list; accepted is an object of dtype, shape and data_offsets");
  EXPECT_EQ(outcome_of_header("{\"__metadata__\":null}"),
            "f: __metadata__ is null; accepted is an object");
  EXPECT_EQ(outcome_of_header("{\"__metadata__\":{\"step\":7}}"),
            "f: __metadata__ 'step' is 7; accepted is a text");
  EXPECT_EQ(outcome_of_header("{\"__metadata__\":{\"a\":{\"b\":\"c\"}}}"),
            "f: __metadata__ 'a' is an object; accepted is a text");
}

TEST(SafeTensorsDamage, what_is_there_twice) {
  const std::string a = member("a", "U8", "[8]", "[0,8]");
  EXPECT_EQ(outcome_of_header("{" + a + "," + a + "}", 8),
            "f: tensor 'a': the name is there twice");
  EXPECT_EQ(outcome_of_header("{" + a + "," + member("\\u0061", "U8", "[8]", "[0,8]") + "}", 8),
            "f: tensor 'a': the name is there twice")
      << "the same name in two spellings";
  EXPECT_EQ(outcome_of_header("{\"__metadata__\":{},\"__metadata__\":{}}"),
            "f: __metadata__ is there twice");
  EXPECT_EQ(outcome_of_header("{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}"),
            "f: __metadata__ has key 'k' twice");
  EXPECT_EQ(outcome_of_fields("\"shape\":[2],\"shape\":[4]"),
            "f: tensor 'a': shape is there twice");
  EXPECT_EQ(outcome_of_fields("\"dtype\":\"U8\",\"dtype\":\"U8\""),
            "f: tensor 'a': dtype is there twice");
  EXPECT_EQ(outcome_of_fields("\"data_offsets\":[],\"data_offsets\":[0,8]"),
            "f: tensor 'a': data_offsets is there twice");
}

TEST(SafeTensorsDamage, fields_that_are_missing_or_too_many) {
  EXPECT_EQ(outcome_of_fields(""), "f: tensor 'a': dtype is missing");
  EXPECT_EQ(outcome_of_fields("\"dtype\":\"U8\",\"data_offsets\":[0,8]"),
            "f: tensor 'a': shape is missing");
  EXPECT_EQ(outcome_of_fields("\"dtype\":\"U8\",\"shape\":[8]"),
            "f: tensor 'a': data_offsets is missing");
  EXPECT_EQ(outcome_of_fields("\"strides\":[1]"),
            "f: tensor 'a': field 'strides' is unknown; accepted are dtype, shape, data_offsets");
}

TEST(SafeTensorsDamage, a_dtype_that_is_not_read) {
  EXPECT_EQ(outcome_of_tensor("F64", "[1]", "[0,8]"),
            std::string("f: tensor 'a': dtype 'F64' is not read") + kDtypes);
  EXPECT_EQ(outcome_of_tensor("F8_E5M2", "[8]", "[0,8]"),
            std::string("f: tensor 'a': dtype 'F8_E5M2' is not read") + kDtypes);
  EXPECT_EQ(outcome_of_tensor("f32", "[2]", "[0,8]"),
            std::string("f: tensor 'a': dtype 'f32' is unknown") + kDtypes);
  EXPECT_EQ(outcome_of_tensor("Q4_K", "[256]", "[0,144]"),
            std::string("f: tensor 'a': dtype 'Q4_K' is unknown") + kDtypes);
  EXPECT_EQ(outcome_of_fields("\"dtype\":32"), "f: tensor 'a': dtype is 32; accepted is a text");
}

TEST(SafeTensorsDamage, a_shape_that_is_none) {
  const auto shape = [](const std::string& text) {
    return outcome_of_tensor("F32", text, "[0,8]");
  };
  EXPECT_EQ(shape("2"), "f: tensor 'a': shape is 2; accepted is a list of integers");
  EXPECT_EQ(shape("[-1]"), std::string("f: tensor 'a': shape[0] is -1") + kIntegers);
  EXPECT_EQ(shape("[1,2.0]"), std::string("f: tensor 'a': shape[1] is 2.0") + kIntegers);
  EXPECT_EQ(shape("[\"2\"]"), std::string("f: tensor 'a': shape[0] is \"2\"") + kIntegers);
  EXPECT_EQ(shape("[[2]]"), std::string("f: tensor 'a': shape[0] is a list") + kIntegers);
  EXPECT_EQ(shape("[18446744073709551616]"),
            std::string("f: tensor 'a': shape[0] is 18446744073709551616") + kIntegers);
  std::string ones = "[1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  EXPECT_EQ(shape(ones + "]"), "f: tensor 'a': shape has more than 64 elements");
}

TEST(SafeTensorsDamage, a_shape_whose_bytes_cannot_be_counted) {
  EXPECT_EQ(outcome_of_tensor("U8", "[4294967296,4294967296]", "[0,8]"),
            "f: tensor 'a': U8[4294967296, 4294967296] has more than 18446744073709551615 bytes");
  EXPECT_EQ(outcome_of_tensor("F32", "[4611686018427387906]", "[0,8]"),
            "f: tensor 'a': F32[4611686018427387906] has more than 18446744073709551615 bytes")
      << "modulo 2^64 it would be 8";
  EXPECT_EQ(outcome_of_tensor("I64", "[9223372036854775807,2,0]", "[0,0]"),
            "f: at byte 84: bytes 0 .. 7 of the data belong to no tensor");
}

TEST(SafeTensorsDamage, offsets_that_are_none) {
  const auto offsets = [](const std::string& text) {
    return outcome_of_tensor("F32", "[2]", text);
  };
  EXPECT_EQ(offsets("8"), "f: tensor 'a': data_offsets is 8; accepted is a list of integers");
  EXPECT_EQ(offsets("[8]"),
            "f: tensor 'a': data_offsets has 1 elements; accepted are 2, begin and end");
  EXPECT_EQ(offsets("[0,4,8]"), "f: tensor 'a': data_offsets has more than 2 elements");
  EXPECT_EQ(offsets("[-8,0]"), std::string("f: tensor 'a': data_offsets[0] is -8") + kIntegers);
  EXPECT_EQ(offsets("[8,0]"),
            "f: tensor 'a': data_offsets are [8, 0], which end before they begin");
  EXPECT_EQ(offsets("[0,9]"),
            "f: tensor 'a': data_offsets are [0, 9]; accepted are 0 .. 8, the bytes of data");
  EXPECT_EQ(offsets("[18446744073709551608,18446744073709551615]"),
            "f: tensor 'a': data_offsets are [18446744073709551608, 18446744073709551615]; "
            "accepted are 0 .. 8, the bytes of data");
  EXPECT_EQ(offsets("[0,4]"), "f: tensor 'a': data_offsets are [0, 4], 4 bytes; F32[2] has 8");
}

TEST(SafeTensorsDamage, data_that_belong_to_nobody_or_to_two) {
  const auto two = [](const std::string& a, const std::string& b) {
    return outcome_of_header(
        "{" + member("a", "U8", "[4]", a) + "," + member("b", "U8", "[4]", b) + "}", 10);
  };
  EXPECT_EQ(two("[0,4]", "[6,10]"), "f: at byte 118: bytes 4 .. 5 of the data belong to no tensor");
  EXPECT_EQ(two("[4,8]", "[0,4]"), "f: at byte 121: bytes 8 .. 9 of the data belong to no tensor");
  EXPECT_EQ(two("[2,6]", "[6,9]").substr(0, 9), "f: tensor") << "one of 3 bytes";
  EXPECT_EQ(two("[0,4]", "[3,7]"),
            "f: tensor 'b' at byte 116: data_offsets [3, 7] overlap those of 'a', [0, 4]");
  EXPECT_EQ(two("[0,4]", "[0,4]"),
            "f: tensor 'b' at byte 113: data_offsets [0, 4] overlap those of 'a', [0, 4]");
  EXPECT_EQ(outcome_of_header("{}", 1),
            "f: at byte 10: bytes 0 .. 0 of the data belong to no tensor");
  EXPECT_EQ(outcome_of_header("{" + member("a", "U8", "[8]", "[0,8]") + "," +
                                  member("b", "U8", "[0]", "[4,4]") + "}",
                              8),
            "f: tensor 'b' at byte 117: data_offsets [4, 4] overlap those of 'a', [0, 8]")
      << "nothing, but in the middle of something";
}

}  // namespace
}  // namespace forge::formats
