#include "forge/text/text_stream.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "forge/text/byte_tokenizer.h"

namespace forge::text {
namespace {

/// The pieces that the client sees, the last one from finish().
std::vector<std::string> pieces_of(std::string_view bytes, const std::vector<std::string>& stops) {
  const ByteTokenizer tokenizer;
  TextStream stream(tokenizer, stops);
  std::vector<std::string> pieces;
  for (const TokenId token : ByteTokenizer::tokens_of(bytes)) pieces.push_back(stream.push(token));
  pieces.push_back(stream.finish());
  return pieces;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

/// The specification, in the plainest way: cut where the first stop string is complete.
std::string cut_at_stop(const std::string& text, const std::vector<std::string>& stops) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::size_t longest = 0;
    for (const std::string& stop : stops) {
      if (std::string_view(text).substr(0, end).ends_with(stop)) {
        longest = std::max(longest, stop.size());
      }
    }
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

TEST(TextStream, a_piece_never_splits_a_character) {
  EXPECT_EQ(pieces_of("x\xC3\xA9!", {}), (std::vector<std::string>{"x", "", "\xC3\xA9", "!", ""}));
}

TEST(TextStream, an_unfinished_character_is_flushed_as_a_replacement_character) {
  EXPECT_EQ(pieces_of("a\xE2\x82", {}), (std::vector<std::string>{"a", "", "", "\xEF\xBF\xBD"}));
}

TEST(TextStream, eos_and_reserved_tokens_yield_no_text) {
  const ByteTokenizer tokenizer;
  TextStream stream(tokenizer);
  EXPECT_EQ(stream.push(ByteTokenizer::kEos), "");
  EXPECT_EQ(stream.push(TokenId(300)), "");
  EXPECT_EQ(stream.finish(), "");
}

TEST(TextStream, text_before_a_stop_string_is_released_and_the_rest_dropped) {
  EXPECT_EQ(pieces_of("one\n\ntwo", {"\n\n"}),
            (std::vector<std::string>{"o", "n", "e", "", "", "", "", "", ""}));
}

TEST(TextStream, a_false_start_of_a_stop_string_is_held_back_then_released) {
  EXPECT_EQ(pieces_of("aab!", {"ab?"}), (std::vector<std::string>{"", "a", "", "ab!", ""}));
}

TEST(TextStream, the_end_of_the_text_releases_what_was_held_back) {
  EXPECT_EQ(pieces_of("END", {"ENDS"}), (std::vector<std::string>{"", "", "", "END"}));
}

TEST(TextStream, stopped_is_true_from_the_character_that_completes_a_stop_string) {
  const ByteTokenizer tokenizer;
  TextStream stream(tokenizer, {"ab"});
  stream.push(ByteTokenizer::token_of('a'));
  EXPECT_FALSE(stream.stopped());
  stream.push(ByteTokenizer::token_of('b'));
  EXPECT_TRUE(stream.stopped());
}

TEST(TextStream, of_two_stop_strings_complete_at_once_the_longer_counts) {
  EXPECT_EQ(joined(pieces_of("xxabc", {"c", "abc"})), "xx");
}

TEST(TextStream, the_stop_string_that_is_complete_first_counts) {
  EXPECT_EQ(joined(pieces_of("xabcd", {"abcd", "bc"})), "xa");
}

TEST(TextStream, a_stop_string_may_match_a_replacement_character) {
  EXPECT_EQ(joined(pieces_of("ab\xFFz", {"b\xFF"})), "a");
}

TEST(TextStream, a_multibyte_stop_string_does_not_hold_half_a_character) {
  EXPECT_EQ(pieces_of("\xC3\xA8\xC3\xA9", {"\xC3\xA9"}),
            (std::vector<std::string>{"", "\xC3\xA8", "", "", ""}));
}

/// Texts over two letters, so that stop strings and their false starts are frequent.
rc::Gen<std::string> letters(std::size_t lowest, std::size_t highest) {
  return rc::gen::mapcat(rc::gen::inRange(lowest, highest + 1), [](std::size_t length) {
    return rc::gen::container<std::string>(length, rc::gen::element('a', 'b'));
  });
}

RC_GTEST_PROP(TextStream, pieces_put_together_are_the_decoded_text_up_to_the_first_stop_string,
              ()) {
  const auto text = *letters(0, 60);
  const auto count = *rc::gen::inRange<std::size_t>(1, 4);
  const auto stops = *rc::gen::container<std::vector<std::string>>(count, letters(3, 9));
  RC_CLASSIFY(cut_at_stop(text, stops) != text, "stopped");
  RC_ASSERT(joined(pieces_of(text, stops)) == cut_at_stop(text, stops));
}

RC_GTEST_PROP(TextStream, pieces_of_any_bytes_put_together_are_the_decoded_text,
              (const std::string& bytes)) {
  RC_ASSERT(joined(pieces_of(bytes, {})) ==
            ByteTokenizer().decode(ByteTokenizer::tokens_of(bytes)));
}

RC_GTEST_PROP(TextStream, every_piece_is_valid_utf8, (const std::string& bytes)) {
  for (const std::string& piece : pieces_of(bytes, {"\xC3\xA9", "e"})) {
    RC_ASSERT(to_valid_utf8(piece) == piece);
  }
}

}  // namespace
}  // namespace forge::text
