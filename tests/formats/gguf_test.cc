#include "forge/formats/gguf.h"

#include <gtest/gtest.h>

#include <limits>

#include "formats/gguf_bytes.h"
#include "formats/scratch_folder.h"

namespace forge::formats {
namespace {

using testing::GgufBytes;
using testing::ScratchFolder;

/// The message without the path, which is not the same everywhere.
template <class T>
std::string message(const tl::expected<T, FileError>& result) {
  return result ? "fine" : result.error().message;
}

TEST(Gguf, opens_a_file_and_survives_a_move) {
  const ScratchFolder folder;
  const std::string path = folder.write("small.gguf", testing::small_gguf());
  Gguf opened = Gguf::open(path).value();
  const std::string_view architecture = opened.text("general.architecture").value();
  const auto tokens = opened.texts("tokenizer.ggml.tokens").value();
  const std::span<const std::byte> norm = opened.find("output_norm.weight")->bytes;

  const Gguf gguf = std::move(opened);
  EXPECT_EQ(gguf.version(), 3u);
  EXPECT_EQ(gguf.file().path(), path);
  EXPECT_EQ(architecture, "llama");
  ASSERT_EQ(tokens.size(), 3u);
  EXPECT_EQ(tokens[0], "<s>");
  EXPECT_EQ(tokens[1], "");
  EXPECT_EQ(tokens[2], "hello");
  EXPECT_EQ(norm.front(), std::byte{0});
  EXPECT_EQ(norm.back(), std::byte{15});
  EXPECT_EQ(gguf.find("blk.0.ffn_up.weight"), &gguf.tensors()[1]);
  EXPECT_EQ(gguf.find("blk.0.ffn_up.weigh"), nullptr);
  EXPECT_EQ(gguf.find(""), nullptr);
}

TEST(Gguf, what_cannot_be_opened_is_an_error_with_the_path) {
  EXPECT_EQ(Gguf::open("no/such/file.gguf").error().file, "no/such/file.gguf");

  const ScratchFolder folder;
  const std::string path = folder.write("other.gguf", "GGML and more");
  const auto gguf = Gguf::open(path);
  ASSERT_FALSE(gguf);
  EXPECT_EQ(to_string(gguf.error()),
            path + ": at byte 0: not a GGUF file: it does not start with \"GGUF\"");
}

TEST(Gguf, numbers_of_any_width_are_integers_and_numbers) {
  const ScratchFolder folder;
  const std::string path =
      folder.write("a.gguf", GgufBytes(0, 9)
                                 .key("u8", GgufType::u8, std::uint8_t{200})
                                 .key("i8", GgufType::i8, std::int8_t{-100})
                                 .key("u16", GgufType::u16, std::uint16_t{60000})
                                 .key("i16", GgufType::i16, std::int16_t{-30000})
                                 .key("u32", GgufType::u32, std::uint32_t{4000000000})
                                 .key("i32", GgufType::i32, std::int32_t{-2000000000})
                                 .key("u64", GgufType::u64, std::uint64_t{1} << 62)
                                 .key("i64", GgufType::i64, -(std::int64_t{1} << 62))
                                 .key("f32", GgufType::f32, 0.5f)
                                 .bytes());
  const Gguf gguf = Gguf::open(path).value();
  const std::pair<const char*, std::int64_t> expected[] = {
      {"u8", 200},         {"i8", -100},         {"u16", 60000},     {"i16", -30000},
      {"u32", 4000000000}, {"i32", -2000000000}, {"u64", 1ll << 62}, {"i64", -(1ll << 62)}};
  for (const auto& [key, value] : expected) {
    EXPECT_EQ(gguf.integer(key).value(), value) << key;
    EXPECT_EQ(gguf.number(key).value(), static_cast<double>(value)) << key;
  }
  EXPECT_EQ(gguf.number("f32").value(), 0.5);
  EXPECT_EQ(std::get<std::uint16_t>(*gguf.value("u16")), 60000) << "the type of the file is kept";
}

TEST(Gguf, a_value_of_another_kind_is_an_error_that_shows_it) {
  const ScratchFolder folder;
  const std::string path =
      folder.write("a.gguf", GgufBytes(0, 6)
                                 .key("text", GgufType::text)
                                 .text("a\nb")
                                 .key("flag", GgufType::boolean, std::uint8_t{1})
                                 .key("half", GgufType::f32, 0.5f)
                                 .key("big", GgufType::u64, ~std::uint64_t{0})
                                 .array("texts", GgufType::text, 1)
                                 .text("x")
                                 .array("flags", GgufType::boolean, 2)
                                 .number<std::uint16_t>(1)
                                 .bytes());
  const Gguf gguf = Gguf::open(path).value();
  EXPECT_EQ(message(gguf.integer("gone")),
            "'gone' is missing; accepted is an integer up to 2^63 - 1");
  EXPECT_EQ(gguf.value("gone"), nullptr);
  EXPECT_EQ(message(gguf.integer("half")),
            "'half' is f32 0.5; accepted is an integer up to 2^63 - 1");
  EXPECT_EQ(message(gguf.integer("flag")),
            "'flag' is boolean true; accepted is an integer up to 2^63 - 1");
  EXPECT_EQ(message(gguf.integer("big")),
            "'big' is u64 18446744073709551615; accepted is an integer up to 2^63 - 1");
  EXPECT_EQ(gguf.number("big").value(), 0x1p64);
  EXPECT_EQ(message(gguf.number("text")), "'text' is text 'a\\x0ab'; accepted is a number");
  EXPECT_EQ(message(gguf.number("flag")), "'flag' is boolean true; accepted is a number");
  EXPECT_EQ(message(gguf.boolean("half")), "'half' is f32 0.5; accepted is a boolean");
  EXPECT_EQ(gguf.boolean("flag").value(), true);
  EXPECT_EQ(message(gguf.text("texts")), "'texts' is array of 1 text; accepted is a text");
  EXPECT_EQ(message(gguf.texts("text")), "'text' is text 'a\\x0ab'; accepted is an array of texts");
  EXPECT_EQ(message(gguf.texts("flags")),
            "'flags' is array of 2 boolean; accepted is an array of texts");
  EXPECT_EQ(message(gguf.numbers("flags")),
            "'flags' is array of 2 boolean; accepted is an array of numbers");
  EXPECT_EQ(message(gguf.numbers("big")),
            "'big' is u64 18446744073709551615; accepted is an array of numbers");
}

TEST(Gguf, arrays_are_read_where_they_lie) {
  const ScratchFolder folder;
  const std::string path = folder.write("a.gguf", GgufBytes(0, 4)
                                                      .array("scores", GgufType::f32, 2)
                                                      .number(-1.5f)
                                                      .number(2.0f)
                                                      .array("types", GgufType::i8, 3)
                                                      .number<std::int8_t>(-1)
                                                      .number<std::int8_t>(2)
                                                      .number<std::int8_t>(3)
                                                      .array("fits", GgufType::u64, 1)
                                                      .number((std::uint64_t{1} << 63) - 1)
                                                      .array("too_big", GgufType::u64, 2)
                                                      .number(std::uint64_t{1})
                                                      .number(std::uint64_t{1} << 63)
                                                      .bytes());
  const Gguf gguf = Gguf::open(path).value();
  const GgufNumbers scores = gguf.numbers("scores").value();
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_EQ(scores.number(0), -1.5);
  EXPECT_EQ(scores.number(1), 2.0);
  const std::byte* const begin = gguf.file().bytes().data();
  EXPECT_TRUE(scores.bytes().data() > begin &&
              scores.bytes().data() < begin + gguf.file().bytes().size());
  EXPECT_EQ(message(gguf.integers("scores")),
            "'scores' is array of 2 f32; accepted is an array of integers up to 2^63 - 1");

  const GgufNumbers types = gguf.integers("types").value();
  ASSERT_EQ(types.size(), 3u);
  EXPECT_EQ(types.integer(0), -1);
  EXPECT_EQ(types.number(2), 3.0);

  EXPECT_EQ(gguf.integers("fits").value().integer(0), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(message(gguf.integers("too_big")),
            "'too_big' is array of 2 u64; accepted is an array of integers up to 2^63 - 1");
  EXPECT_EQ(gguf.numbers("too_big").value().number(1), 0x1p63);
}

}  // namespace
}  // namespace forge::formats
