#include "forge/text/utf8_stream.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace forge::text {
namespace {

#define R "\xEF\xBF\xBD"  // U+FFFD

struct Case {
  std::string_view bytes;
  std::string_view text;
};

// The expected texts are those of an independent implementation of the same practice:
// python3 -c 'print(b"\xE0\x80\xAF".decode("utf-8", "replace"))'
constexpr Case kCases[] = {
    {"plain", "plain"},
    {"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x94\xA5", "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x94\xA5"},
    {"\x61\xF1\x80\x80\xE1\x80\xC2\x62", "a" R R R "b"},  // Unicode 15.0, table 3-8
    {"\xC0\xAF", R R},                                    // overlong
    {"\xE0\x80\xAF", R R R},                              // overlong
    {"\xF0\x80\x80\xAF", R R R R},                        // overlong
    {"\xED\xA0\x80", R R R},                              // surrogate
    {"\xF4\x90\x80\x80", R R R R},                        // above U+10FFFF
    {"\xF5\xFF", R R},                                    // never lead bytes
    {"\x80\xBF", R R},                                    // lone continuations
    {"\xE2\x82", R},                                      // cut short
    {"\xE2\x82\xE2\x82\xAC", R "\xE2\x82\xAC"},
    {"\xF0\x9F\x94"
     "a",
     R "a"},
    {"\xC3\xC3\xA9", R "\xC3\xA9"},
};
#undef R

TEST(Utf8Stream, ill_formed_parts_become_replacement_characters_by_maximal_subparts) {
  for (const Case& c : kCases) EXPECT_EQ(to_valid_utf8(c.bytes), c.text);
}

TEST(Utf8Stream, a_character_comes_out_with_its_last_byte) {
  Utf8Stream stream;
  std::vector<std::string> pieces;
  for (const unsigned char byte : std::string("a\xE2\x82\xAC")) {
    stream.push(byte, pieces.emplace_back());
  }
  EXPECT_EQ(pieces, (std::vector<std::string>{"a", "", "", "\xE2\x82\xAC"}));
}

TEST(Utf8Stream, an_ill_formed_part_comes_out_as_soon_as_it_is_known) {
  Utf8Stream stream;
  std::string text;
  stream.push(0xE2, text);
  EXPECT_EQ(text, "");
  stream.push('a', text);
  EXPECT_EQ(text,
            "\xEF\xBF\xBD"
            "a");
}

TEST(Utf8Stream, every_scalar_value_passes_unchanged) {
  for (std::uint32_t c = 0x80; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    const auto continuation = [&](int shift) {
      text.push_back(static_cast<char>(0x80 | ((c >> shift) & 0x3F)));
    };
    if (c < 0x800) {
      text.push_back(static_cast<char>(0xC0 | (c >> 6)));
    } else if (c < 0x10000) {
      text.push_back(static_cast<char>(0xE0 | (c >> 12)));
      continuation(6);
    } else {
      text.push_back(static_cast<char>(0xF0 | (c >> 18)));
      continuation(12);
      continuation(6);
    }
    continuation(0);
    ASSERT_EQ(to_valid_utf8(text), text) << c;
  }
}

RC_GTEST_PROP(Utf8Stream, output_is_valid_and_a_second_pass_changes_nothing, ()) {
  // Bytes from the interesting ends of the ranges of table 3-7 meet more often than random ones.
  const auto byte = rc::gen::element<char>('a', '\x7F', '\x80', '\x8F', '\x90', '\x9F', '\xA0',
                                           '\xBF', '\xC1', '\xC2', '\xDF', '\xE0', '\xE1', '\xED',
                                           '\xEF', '\xF0', '\xF1', '\xF4', '\xF5', '\xFF');
  const auto bytes = *rc::gen::container<std::string>(byte);
  const std::string once = to_valid_utf8(bytes);
  RC_ASSERT(to_valid_utf8(once) == once);
}

}  // namespace
}  // namespace forge::text
