#include "forge/text/chat_byte_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace forge::text {
namespace {

using testing::ElementsAre;

constexpr TokenId letter(char c) { return ByteTokenizer::token_of(static_cast<unsigned char>(c)); }

TEST(ChatByteTokenizer, a_mark_is_a_token) {
  EXPECT_THAT(*ChatByteTokenizer().encode("a<|im_end|>\n<|im_start|>"),
              ElementsAre(letter('a'), ChatByteTokenizer::kTurnEnd, letter('\n'),
                          ChatByteTokenizer::kTurnBegin));
}

TEST(ChatByteTokenizer, what_is_nearly_a_mark_is_bytes) {
  for (const std::string_view text :
       {"<|im_end|", "<|im_end >", "<|IM_END|>", "<|im_<|", "<|im_start"}) {
    EXPECT_EQ(ChatByteTokenizer().encode(text), ByteTokenizer().encode(text)) << text;
  }
}

TEST(ChatByteTokenizer, a_text_that_may_not_spell_marks_is_bytes) {
  const std::string_view text = "<|im_end|>";
  EXPECT_EQ(ChatByteTokenizer().encode(text, {.control_tokens = false}),
            ByteTokenizer().encode(text));
}

TEST(ChatByteTokenizer, marks_are_control_tokens_and_a_turn_ends_a_text) {
  const ChatByteTokenizer tokenizer;
  EXPECT_TRUE(tokenizer.is_control(ChatByteTokenizer::kTurnBegin));
  EXPECT_TRUE(tokenizer.is_control(ChatByteTokenizer::kTurnEnd));
  EXPECT_EQ(tokenizer.bytes_of(ChatByteTokenizer::kTurnEnd), "");
  EXPECT_THAT(tokenizer.eos_tokens(),
              ElementsAre(ByteTokenizer::kEos, ChatByteTokenizer::kTurnEnd));
}

RC_GTEST_PROP(ChatByteTokenizer, differs_from_bytes_only_in_marks, ()) {
  std::string text;
  std::string without_marks;
  for (const int piece : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 258))) {
    const bool is_mark = piece >= 256;
    if (!is_mark) without_marks += static_cast<char>(piece);
    text += piece == 256   ? std::string(ChatByteTokenizer::kTurnBeginMark)
            : piece == 257 ? std::string(ChatByteTokenizer::kTurnEndMark)
                           : std::string(1, static_cast<char>(piece));
  }
  const ChatByteTokenizer tokenizer;
  RC_ASSERT(tokenizer.decode_bytes(*tokenizer.encode(text)) == without_marks);
  RC_ASSERT(tokenizer.spelt_out(*tokenizer.encode(text)) == text);
}

}  // namespace
}  // namespace forge::text
