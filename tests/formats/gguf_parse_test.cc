#include <gtest/gtest.h>

#include "forge/formats/gguf.h"
#include "formats/gguf_bytes.h"

namespace forge::formats {
namespace {

using testing::as_bytes;
using testing::GgufBytes;
using testing::small_gguf;

constexpr std::uint64_t kHuge = ~std::uint64_t{0};

/// The error, or "fine".
std::string outcome(const GgufBytes& file) {
  const auto contents = parse_gguf(as_bytes(file.bytes()), "m.gguf");
  return contents ? "fine" : to_string(contents.error());
}

TEST(GgufParse, a_small_file) {
  const std::string file = small_gguf();
  const GgufContents contents = parse_gguf(as_bytes(file), "small.gguf").value();
  EXPECT_EQ(contents.version, 3u);
  EXPECT_EQ(contents.metadata.size(), 6u);
  EXPECT_EQ(to_string(contents.metadata.at("general.architecture")), "text 'llama'");
  EXPECT_EQ(to_string(contents.metadata.at("tokenizer.ggml.tokens")), "array of 3 text");

  ASSERT_EQ(contents.tensors.size(), 2u);
  const Tensor& norm = contents.tensors[0];
  EXPECT_EQ(norm.name, "output_norm.weight");
  EXPECT_EQ(to_string(norm), "F32[4]");
  EXPECT_EQ(norm.bytes.size(), 16u);
  const Tensor& up = contents.tensors[1];
  EXPECT_EQ(to_string(up), "Q8_0[2, 32]") << "two rows of one block, slowest dimension first";
  EXPECT_EQ(up.offset, norm.offset + 16);
  EXPECT_EQ(up.bytes.size(), 68u);
  EXPECT_EQ(up.bytes.data(), as_bytes(file).data() + up.offset);
  EXPECT_EQ(up.bytes.front(), std::byte{16}) << "the data counts from 0";
}

TEST(GgufParse, what_is_unusual_but_right) {
  EXPECT_EQ(outcome(GgufBytes(0, 0)), "fine");
  EXPECT_EQ(outcome(GgufBytes(0, 0, 2)), "fine");
  EXPECT_EQ(outcome(GgufBytes(0, 1).array("a", GgufType::text, 0)), "fine");
  EXPECT_EQ(outcome(GgufBytes(0, 1).array("a", GgufType::f64, 0)), "fine");
  EXPECT_EQ(outcome(GgufBytes(0, 1).key("\xff\n", GgufType::text).text("\0\xfe")), "fine");
  EXPECT_EQ(outcome(GgufBytes(1, 0).tensor("scalar", {}, 0).data(4)), "fine");
  EXPECT_EQ(outcome(GgufBytes(1, 0).tensor("t", {1, 1, 1, 2}, 0, 27).data(16)), "fine");
  EXPECT_EQ(outcome(GgufBytes(2, 0).tensor("b", {1}, 64).tensor("a", {1}, 0).data(68)), "fine")
      << "in any order, with a gap";
  EXPECT_EQ(outcome(GgufBytes(1, 1)
                        .key("general.alignment", GgufType::u64, std::uint64_t{65536})
                        .tensor("t", {1}, 65536)
                        .data(65540, 65536)),
            "fine");
}

TEST(GgufParse, files_of_another_kind_and_version_are_refused) {
  EXPECT_EQ(outcome(GgufBytes()),
            "m.gguf: at byte 0: the file ends within the header: 4 bytes are needed, 0 are left");
  EXPECT_EQ(outcome(GgufBytes().number(0x46474747)),
            "m.gguf: at byte 0: not a GGUF file: it does not start with \"GGUF\"");
  EXPECT_EQ(outcome(GgufBytes(0, 0, 1)), "m.gguf: at byte 4: version 1; 2 and 3 are read");
  EXPECT_EQ(outcome(GgufBytes(0, 0, 0)), "m.gguf: at byte 4: version 0; 2 and 3 are read");
  EXPECT_EQ(outcome(GgufBytes(0, 0, 4)), "m.gguf: at byte 4: version 4; 2 and 3 are read");
  EXPECT_EQ(outcome(GgufBytes(0, 0, 0x03000000)),
            "m.gguf: at byte 4: a big-endian file; little-endian files are read");
}

TEST(GgufParse, counts_are_held_against_the_file) {
  EXPECT_EQ(outcome(GgufBytes(kHuge, 0)),
            "m.gguf: at byte 8: 18446744073709551615 tensors; accepted are 0 .. 65536");
  EXPECT_EQ(outcome(GgufBytes(65536, 0)),
            "m.gguf: at byte 8: 65536 tensors do not fit into the 8 bytes that follow");
  EXPECT_EQ(outcome(GgufBytes(0, kHuge)),
            "m.gguf: at byte 16: 18446744073709551615 keys; accepted are 0 .. 65536");
  EXPECT_EQ(outcome(GgufBytes(0, 2).key("a", GgufType::u8, std::uint8_t{1})),
            "m.gguf: at byte 16: 2 keys do not fit into the 14 bytes that follow");
}

TEST(GgufParse, keys_are_checked) {
  EXPECT_EQ(outcome(GgufBytes(0, 1).key("", GgufType::u64, kHuge)),
            "m.gguf: at byte 24: a key of 0 bytes; accepted are 1 .. 65535");
  EXPECT_EQ(outcome(GgufBytes(0, 1).key(std::string(65536, 'k'), GgufType::u8, std::uint8_t{0})),
            "m.gguf: at byte 24: a key of 65536 bytes; accepted are 1 .. 65535");
  EXPECT_EQ(outcome(GgufBytes(0, 1).number<std::uint64_t>(7).number<std::uint64_t>(0)),
            "m.gguf: at byte 39: the file ends within the value of '\\x00\\x00\\x00\\x00\\x00\\x00"
            "\\x00': 4 bytes are needed, 1 are left");
  EXPECT_EQ(outcome(GgufBytes(0, 1).number<std::uint64_t>(1000).number<std::uint64_t>(0)),
            "m.gguf: at byte 32: the file ends within key 0 of 1: 1000 bytes are needed, 8 are "
            "left");
  EXPECT_EQ(outcome(GgufBytes(0, 2)
                        .key("a.b", GgufType::u8, std::uint8_t{1})
                        .key("a.b", GgufType::u8, std::uint8_t{1})),
            "m.gguf: at byte 40: the key 'a.b' occurs twice");
}

TEST(GgufParse, values_are_checked) {
  EXPECT_EQ(outcome(GgufBytes(0, 1).key("k", static_cast<GgufType>(13), 0)),
            "m.gguf: at byte 33: 'k' has type 13; accepted are 0 .. 12");
  EXPECT_EQ(outcome(GgufBytes(0, 1).key("k", GgufType::f64, 1.0f)),
            "m.gguf: at byte 37: the file ends within the value of 'k': 8 bytes are needed, 4 are "
            "left");
  EXPECT_EQ(outcome(GgufBytes(0, 1).key("k", GgufType::boolean, std::uint8_t{2})),
            "m.gguf: at byte 37: a boolean is 2; accepted are 0 and 1");
  EXPECT_EQ(outcome(GgufBytes(0, 1).key("k", GgufType::text, kHuge)),
            "m.gguf: at byte 45: the file ends within the value of 'k': 18446744073709551615 bytes "
            "are needed, 0 are left");
}

TEST(GgufParse, arrays_are_checked) {
  EXPECT_EQ(outcome(GgufBytes(0, 1).array("k", GgufType::array, 1)),
            "m.gguf: at byte 37: 'k' is an array of arrays, which is not read");
  EXPECT_EQ(outcome(GgufBytes(0, 1).array("k", static_cast<GgufType>(99), 1)),
            "m.gguf: at byte 37: an element of 'k' has type 99; accepted are 0 .. 12");
  EXPECT_EQ(outcome(GgufBytes(0, 1).array("k", GgufType::f64, 2).number(0.5)),
            "m.gguf: at byte 41: 'k' is an array of 2 f64, but 8 bytes are left of the file");
  EXPECT_EQ(outcome(GgufBytes(0, 1).array("k", GgufType::u64, kHuge / 8 + 1)),
            "m.gguf: at byte 41: 'k' is an array of 2305843009213693952 u64, but 0 bytes are left "
            "of the file")
      << "whose bytes, counted in 64 bits, would be 0";
  EXPECT_EQ(outcome(GgufBytes(0, 1).array("k", GgufType::text, 2).text("")),
            "m.gguf: at byte 41: 'k' is an array of 2 text, but 8 bytes are left of the file");
  EXPECT_EQ(outcome(GgufBytes(0, 1).array("k", GgufType::text, 2).text("12345678")),
            "m.gguf: at byte 65: the file ends within the value of 'k': 8 bytes are needed, 0 are "
            "left");
  EXPECT_EQ(outcome(GgufBytes(0, 1).array("k", GgufType::boolean, 2).number<std::uint16_t>(0x201)),
            "m.gguf: at byte 49: 'k' has a boolean that is neither 0 nor 1");
}

TEST(GgufParse, the_alignment_is_checked) {
  const auto with_alignment = [](auto type, auto value) {
    return outcome(GgufBytes(0, 1).key("general.alignment", type, value));
  };
  const std::string accepted = "; accepted are powers of two in 8 .. 65536, as u32 or u64";
  EXPECT_EQ(with_alignment(GgufType::u32, 0), "m.gguf: general.alignment is u32 0" + accepted);
  EXPECT_EQ(with_alignment(GgufType::u32, 4), "m.gguf: general.alignment is u32 4" + accepted);
  EXPECT_EQ(with_alignment(GgufType::u32, 24), "m.gguf: general.alignment is u32 24" + accepted);
  EXPECT_EQ(with_alignment(GgufType::u64, kHuge / 2 + 1),
            "m.gguf: general.alignment is u64 9223372036854775808" + accepted);
  EXPECT_EQ(with_alignment(GgufType::f32, 32.0f), "m.gguf: general.alignment is f32 32" + accepted);
}

TEST(GgufParse, descriptions_of_tensors_are_checked) {
  EXPECT_EQ(outcome(GgufBytes(1, 0).tensor("", {1}, 0)),
            "m.gguf: at byte 24: a tensor's name of 0 bytes; accepted are 1 .. 65535");
  EXPECT_EQ(outcome(GgufBytes(2, 0).tensor("a", {1}, 0).tensor("a", {1}, 32).data(64)),
            "m.gguf: tensor 'a' at byte 57: the name occurs twice");
  EXPECT_EQ(outcome(GgufBytes(1, 0).tensor("a", {1, 1, 1, 1, 1}, 0)),
            "m.gguf: tensor 'a' at byte 33: has 5 dimensions; accepted are 0 .. 4");
  EXPECT_EQ(outcome(GgufBytes(1, 0).tensor("a", {1, 0}, 0)),
            "m.gguf: tensor 'a' at byte 45: dimension 1 is 0; accepted are 1 .. "
            "9223372036854775807");
  EXPECT_EQ(outcome(GgufBytes(1, 0).tensor("a", {1u << 31, 1u << 31, 4}, 0)),
            "m.gguf: tensor 'a' at byte 53: dimension 2 is 4; accepted are 1 .. 1");
  EXPECT_EQ(outcome(GgufBytes(1, 0).tensor("a", {1u << 31, 1u << 31}, 0)),
            "m.gguf: tensor 'a' at byte 53: F32[2147483648, 2147483648] is more bytes than can be "
            "counted");
  EXPECT_EQ(outcome(GgufBytes(1, 0).tensor("a", {33}, 0, 8)),
            "m.gguf: tensor 'a' at byte 45: a row of 33 numbers is not whole blocks of Q8_0, which "
            "are of 32");
  EXPECT_EQ(outcome(GgufBytes(1, 0).tensor("a", {128, 2}, 0, 12)),
            "m.gguf: tensor 'a' at byte 53: a row of 128 numbers is not whole blocks of Q4_K, "
            "which are of 256");
  EXPECT_EQ(outcome(GgufBytes(1, 0).tensor("a", {1}, 0, 9).number(0)),
            "m.gguf: tensor 'a' at byte 45: has type Q8_1 (ggml type 9); readable are F32, F16, "
            "Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, I8, I32, "
            "I64, BF16, MXFP4");
  EXPECT_EQ(outcome(GgufBytes(1, 0).tensor("a", {1}, 0, 18)).substr(0, 63),
            "m.gguf: tensor 'a' at byte 45: has type IQ3_XXS (ggml type 18);");
  EXPECT_EQ(outcome(GgufBytes(1, 0).tensor("a", {1}, 0, 4000000000u)).substr(0, 63),
            "m.gguf: tensor 'a' at byte 45: has type ggml type 4000000000; r");
}

TEST(GgufParse, places_of_tensors_are_checked) {
  EXPECT_EQ(outcome(GgufBytes(1, 0).tensor("a", {1}, 16).data(64)),
            "m.gguf: tensor 'a' at byte 49: data at offset 16, which is no multiple of the "
            "alignment, 32");
  EXPECT_EQ(outcome(GgufBytes(1, 0).tensor("a", {8}, 0).data(31)),
            "m.gguf: tensor 'a': F32[8] needs 32 bytes from 0 of the data, which ends after 31");
  EXPECT_EQ(outcome(GgufBytes(1, 0).tensor("a", {8}, 0)),
            "m.gguf: tensor 'a': F32[8] needs 32 bytes from 0 of the data, which ends after 0")
      << "the padding before the data is missing too";
  EXPECT_EQ(outcome(GgufBytes(1, 0).tensor("a", {8}, kHuge - 31).data(32)),
            "m.gguf: tensor 'a': F32[8] needs 32 bytes from 18446744073709551584 of the data, "
            "which ends after 32");
  EXPECT_EQ(outcome(GgufBytes(2, 0).tensor("a", {8}, 32).tensor("b", {9}, 0).data(64)),
            "m.gguf: tensor 'a' at byte 128: overlaps tensor 'b', which has 36 bytes from 96");
  EXPECT_EQ(outcome(GgufBytes(2, 0).tensor("a", {8}, 0).tensor("b", {8}, 0).data(32)),
            "m.gguf: tensor 'b' at byte 96: overlaps tensor 'a', which has 32 bytes from 96");
}

}  // namespace
}  // namespace forge::formats
