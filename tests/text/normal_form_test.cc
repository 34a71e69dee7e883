// Unicode's normal form C. What Hugging Face's `tokenizers` makes of such texts is in
// golden_tokenizers_test.cc (qwen2, composed).
#include "normal_form.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "utf8_text.h"

namespace forge::text::detail {
namespace {

std::string spelt(std::u32string_view points) {
  std::string text;
  for (const char32_t point : points) append_utf8(text, static_cast<std::uint32_t>(point));
  return text;
}

std::string composed_from(std::u32string_view points) { return composed(spelt(points)); }

/// What utf8proc makes of valid UTF-8, all of it at once.
std::string as_utf8proc_does(const std::string& text, int options) {
  utf8proc_uint8_t* result = nullptr;
  const utf8proc_ssize_t bytes = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
      static_cast<utf8proc_ssize_t>(text.size()), &result, static_cast<utf8proc_option_t>(options));
  if (bytes < 0) throw std::runtime_error(utf8proc_errmsg(bytes));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(result, &std::free);
  return {reinterpret_cast<const char*>(result), static_cast<std::size_t>(bytes)};
}

TEST(NormalForm, a_letter_and_its_accents_become_one_character) {
  EXPECT_EQ(composed_from(U"e\u0301"), spelt(U"\u00E9"));
  EXPECT_EQ(composed_from(U"Vie\u0323\u0302t"), spelt(U"Vi\u1EC7t"));
  EXPECT_EQ(composed_from(U"Vi\u00EA\u0323t"), spelt(U"Vi\u1EC7t")) << "the mark below goes first";
  EXPECT_EQ(composed_from(U"\u0438\u0306"), spelt(U"\u0439"));
  EXPECT_EQ(composed_from(U"\u304B\u3099"), spelt(U"\u304C"));
}

TEST(NormalForm, text_that_is_in_it_stays) {
  for (const std::u32string_view text :
       {U"", U"a", U"plain ASCII, longer than eight bytes", U"\u00E9t\u00E9 \u1EC7 \u0439 \u304C",
        U"\u4F60\u597D\uFF0C\u4E16\u754C", U"\uD55C\uAE00",
        U"\U0001F999 \U0001F469\u200D\U0001F467", U"q\u0323\u0307", U"\u0301 alone",
        U"\uFF76\uFF9E \uFB01 \u00BD"}) {
    EXPECT_EQ(composed_from(text), spelt(text));
  }
}

TEST(NormalForm, of_two_equal_characters_the_preferred_one_is_taken) {
  EXPECT_EQ(composed_from(U"\u212B \u2126 \u212A"), spelt(U"\u00C5 \u03A9 K"));
  EXPECT_EQ(composed_from(U"\u037E\u1FEF"), ";`");
  EXPECT_EQ(composed_from(U"\uF900\U0002F800"), spelt(U"\u8C48\u4E3D"));
}

TEST(NormalForm, some_characters_are_only_written_in_parts) {
  EXPECT_EQ(composed_from(U"\u0958"), spelt(U"\u0915\u093C"));
  EXPECT_EQ(composed_from(U"\uFB1D"), spelt(U"\u05D9\u05B4"));
  EXPECT_EQ(composed_from(U"\u0344"), spelt(U"\u0308\u0301"));
  EXPECT_EQ(composed_from(U"\U0001D15E"), spelt(U"\U0001D157\U0001D165"));
}

TEST(NormalForm, korean_letters_become_syllables) {
  EXPECT_EQ(composed_from(U"\u1112\u1161\u11AB"), spelt(U"\uD55C"));
  EXPECT_EQ(composed_from(U"\u1112\u1161\u11AB\u1100\u1173\u11AF"), spelt(U"\uD55C\uAE00"));
  EXPECT_EQ(composed_from(U"\uAC00\u11A8"), spelt(U"\uAC01"));
  EXPECT_EQ(composed_from(U"\uAC01\u11A8"), spelt(U"\uAC01\u11A8")) << "it is complete";
  EXPECT_EQ(composed_from(U"\u1100\u11A8"), spelt(U"\u1100\u11A8")) << "it has no vowel";
  EXPECT_EQ(composed_from(U"\u1100\u0301\u1161"), spelt(U"\u1100\u0301\u1161"));
}

TEST(NormalForm, a_letter_next_to_the_final_consonants_is_none_of_them) {
  EXPECT_EQ(composed_from(U"\uAC00\u11A7"), spelt(U"\uAC00\u11A7"));
  EXPECT_EQ(composed_from(U"\u1100\u1161\u11A7"), spelt(U"\uAC00\u11A7"));
  EXPECT_EQ(composed_from(U"\uAC00\u11A7\u0315\u0301"), spelt(U"\uAC00\u11A7\u0301\u0315"));
}

TEST(NormalForm, marks_are_sorted_by_their_classes_and_those_of_one_class_stay) {
  EXPECT_EQ(composed_from(U"q\u0307\u0323"), spelt(U"q\u0323\u0307"));
  EXPECT_EQ(composed_from(U"q\u0307\u0301"), spelt(U"q\u0307\u0301"));
  EXPECT_EQ(composed_from(U"a\u0315\u0300\u05AE\u0062"), spelt(U"\u00E0\u05AE\u0315b"));
  EXPECT_EQ(composed_from(U"a\u0327\u0301"), spelt(U"\u00E1\u0327"))
      << "past a mark of lower class";
  EXPECT_EQ(composed_from(U"a\u0302\u0301\u0300"), spelt(U"\u1EA5\u0300"));
  EXPECT_EQ(composed_from(U"a\u0305\u0301"), spelt(U"a\u0305\u0301"))
      << "not past one of its class";
}

TEST(NormalForm, vowel_signs_join_though_they_are_no_accents) {
  EXPECT_EQ(composed_from(U"\u0BC6\u0BBE"), spelt(U"\u0BCA"));
  EXPECT_EQ(composed_from(U"\u0DD9\u0DCF\u0DCA"), spelt(U"\u0DDD"));
  EXPECT_EQ(composed_from(U"\u1025\u102E"), spelt(U"\u1026"));
  EXPECT_EQ(composed_from(U"\u0B47\u0301\u0B3E"), spelt(U"\u0B47\u0301\u0B3E")) << "a mark between";
}

TEST(NormalForm, bytes_that_are_no_characters_stay_and_part_what_is_around_them) {
  const std::string e_acute = "\xC3\xA9";
  const std::string acute = "\xCC\x81";
  EXPECT_EQ(composed("\xFF"
                     "e" +
                     acute),
            "\xFF" + e_acute);
  EXPECT_EQ(composed("e" + acute + "\x80" + acute), e_acute + "\x80" + acute);
  EXPECT_EQ(composed("e\xE1\x80" + acute + "e" + acute), "e\xE1\x80" + acute + e_acute);
  EXPECT_EQ(composed("e" + acute + "e\xCC"), e_acute + "e\xCC") << "cut off";
  EXPECT_EQ(composed("\xED\xA0\x80"
                     "e" +
                     acute),
            "\xED\xA0\x80" + e_acute)
      << "a surrogate";
}

TEST(NormalForm, every_character_in_parts_becomes_what_it_is_equal_to) {
  for (std::uint32_t point = 0; point <= 0x10FFFF; ++point) {
    if (point >= 0xD800 && point <= 0xDFFF) continue;
    std::string whole;
    append_utf8(whole, point);
    const std::string parts = as_utf8proc_does(whole, UTF8PROC_DECOMPOSE | UTF8PROC_STABLE);
    const std::string wanted = as_utf8proc_does(whole, UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    ASSERT_EQ(composed(parts), wanted) << point;
    ASSERT_EQ(composed(whole), wanted) << point;
  }
}

/// Texts that are equal are of the same parts. So no text is longer than its parts at their
/// longest, each written as the longest character that is equal to it, and a character of normal
/// form C stands for no more bytes than its parts at their longest have.
TEST(NormalForm, no_byte_stands_for_more_than_is_said) {
  const auto every_character = [](const auto& visit) {
    for (std::uint32_t point = 0; point <= 0x10FFFF; ++point) {
      if (point >= 0xD800 && point <= 0xDFFF) continue;
      std::string whole;
      append_utf8(whole, point);
      std::vector<std::string> parts;
      const std::string all = as_utf8proc_does(whole, UTF8PROC_DECOMPOSE | UTF8PROC_STABLE);
      for (std::size_t at = 0; at < all.size(); at += character_bytes(all[at])) {
        parts.push_back(all.substr(at, character_bytes(all[at])));
      }
      visit(whole, parts);
    }
  };
  std::unordered_map<std::string, std::size_t> longest;  // by part
  every_character([&](const std::string& whole, const std::vector<std::string>& parts) {
    if (parts.size() == 1) longest[parts[0]] = std::max(longest[parts[0]], whole.size());
  });
  std::size_t composed_bytes_max = 0;
  every_character([&](const std::string& whole, const std::vector<std::string>& parts) {
    std::size_t bytes = 0;
    for (const std::string& part : parts) bytes += longest.at(part);
    EXPECT_GE(bytes, whole.size()) << whole << " is longer than its parts";
    if (composed(whole) != whole) return;
    composed_bytes_max = std::max(composed_bytes_max, (bytes + whole.size() - 1) / whole.size());
  });
  EXPECT_EQ(composed_bytes_max, kComposedBytesMax);
  EXPECT_EQ(composed_from(U"\u1FBE\u0308\u0301"), spelt(U"\u0390"));
}

/// Letters, parts of syllables, marks of many classes, and what is made of them.
rc::Gen<std::string> characters() {
  static const std::u32string kSome =
      U" aeqAI\u00E9\u00EA\u1EC7\u212B\u0344\u0958\u0300\u0301\u0302\u0307\u0308\u0315\u0323\u0327"
      U"\u0331\u0338\u0345\u03B1\u0391\u1F82\u0413\u0438\u0306\u05D9\u05B4\u05AE\u0F71\u0F72\u0F73"
      U"\u0915\u093C\u0B47\u0B3E\u0BC6\u0BBE\u0DD9\u0DCF\u0DCA\u1025\u102E\u1100\u1112\u1161\u1175"
      U"\u11A8\u11AB\uAC00\uD55C\u304B\u3099\u309A\u4F60\uF900\U0001D157\U0001D165\U0001F999\u200D";
  return rc::gen::map(rc::gen::container<std::u32string>(rc::gen::elementOf(kSome)),
                      [](const std::u32string& points) { return spelt(points); });
}

RC_GTEST_PROP(NormalForm, is_what_utf8proc_makes_of_the_whole_text, ()) {
  const std::string text = *characters();
  RC_ASSERT(composed(text) == as_utf8proc_does(text, UTF8PROC_COMPOSE | UTF8PROC_STABLE));
}

RC_GTEST_PROP(NormalForm, of_equal_texts_is_the_same, ()) {
  const std::string text = *characters();
  const std::string parts = as_utf8proc_does(text, UTF8PROC_DECOMPOSE | UTF8PROC_STABLE);
  RC_ASSERT(composed(parts) == composed(text));
}

/// Any bytes, with characters among them.
rc::Gen<std::string> bytes() {
  const auto piece = rc::gen::oneOf(rc::gen::container<std::string>(rc::gen::arbitrary<char>()),
                                    characters(), rc::gen::just(std::string("\xE1\x80")));
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece),
                      [](const std::vector<std::string>& pieces) {
                        std::string all;
                        for (const std::string& next : pieces) all += next;
                        return all;
                      });
}

RC_GTEST_PROP(NormalForm, of_any_bytes_in_it_is_the_same_again, ()) {
  const std::string once = composed(*bytes());
  RC_ASSERT(composed(once) == once);
}

RC_GTEST_PROP(NormalForm, of_bytes_parted_by_one_that_is_none_is_that_of_the_parts, ()) {
  const std::string before = *bytes();
  const std::string after = *bytes();
  RC_ASSERT(composed(before + '\xFF' + after) == composed(before) + '\xFF' + composed(after));
}

RC_GTEST_PROP(NormalForm, of_valid_text_is_valid, ()) {
  RC_ASSERT(is_valid_utf8(composed(*characters())));
}

TEST(NormalForm, a_million_marks_in_the_wrong_order_are_no_problem) {
  constexpr std::size_t kCount = 500'000;
  std::string above;
  std::string below;
  for (std::size_t i = 0; i < kCount; ++i) {
    above += spelt(U"\u0305");
    below += spelt(U"\u0316");
  }
  EXPECT_EQ(composed("a" + above + below), "a" + below + above);
}

}  // namespace
}  // namespace forge::text::detail
