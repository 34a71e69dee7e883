// tests/golden/tokenizers: a small tokenizer of each kind and what Hugging Face's `tokenizers`
// makes of texts with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "forge/text/text_stream.h"
#include "text/checkpoint_files.h"

namespace forge::text {
namespace {

using ::testing::ElementsAreArray;

struct Vector {
  std::string text;
  std::vector<TokenId> ids;
  std::string decoded;
};

std::vector<Vector> vectors_of(const std::string& folder) {
  std::vector<Vector> vectors;
  for (const auto& entry : nlohmann::json::parse(test::text_of_file(folder + "/vectors.json"))) {
    Vector vector{entry["text"], {}, entry["decoded"]};
    for (const auto& id : entry["ids"]) vector.ids.emplace_back(id.get<std::uint32_t>());
    vectors.push_back(std::move(vector));
  }
  return vectors;
}

class GoldenTokenizers : public ::testing::TestWithParam<const char*> {
 protected:
  const std::string folder_ = std::string(FORGE_GOLDEN_TOKENISERS) + "/" + GetParam();
  const std::unique_ptr<const Tokenizer> tokenizer_ = test::from_directory(folder_);
};

TEST_P(GoldenTokenizers, every_text_becomes_the_tokens_of_the_reference) {
  for (const Vector& vector : vectors_of(folder_)) {
    EXPECT_THAT(tokenizer_->encode(vector.text).value(), ElementsAreArray(vector.ids))
        << vector.text;
  }
}

TEST_P(GoldenTokenizers, tokens_decode_as_with_the_reference) {
  for (const Vector& vector : vectors_of(folder_)) {
    EXPECT_EQ(tokenizer_->decode(vector.ids), vector.decoded) << vector.text;
  }
}

TEST_P(GoldenTokenizers, every_token_has_bytes_or_is_control) {
  for (std::uint32_t id = 0; id < tokenizer_->vocabulary_size(); ++id) {
    EXPECT_EQ(tokenizer_->bytes_of(TokenId(id)).empty(), tokenizer_->is_control(TokenId(id))) << id;
  }
  const TokenId beyond(tokenizer_->vocabulary_size());
  EXPECT_EQ(tokenizer_->bytes_of(beyond), "");
  EXPECT_FALSE(tokenizer_->is_control(beyond));
}

TEST_P(GoldenTokenizers, a_stream_of_tokens_never_splits_a_character) {
  for (const Vector& vector : vectors_of(folder_)) {
    TextStream stream(*tokenizer_);
    std::string all;
    for (const TokenId token : vector.ids) {
      const std::string piece = stream.push(token);
      EXPECT_EQ(piece, to_valid_utf8(piece)) << vector.text;
      all += piece;
    }
    EXPECT_EQ(all + stream.finish(), vector.decoded);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, GoldenTokenizers,
                         ::testing::Values("gpt2", "prefix_space", "digits", "llama3", "qwen2",
                                           "composed", "deepseek_v3", "deepseek_coder", "olmo2",
                                           "llama2", "mistral", "unknown", "unigram",
                                           "unigram_words"),
                         [](const auto& kind) { return std::string(kind.param); });

std::unique_ptr<const Tokenizer> golden(const std::string& kind) {
  return test::from_directory(std::string(FORGE_GOLDEN_TOKENISERS) + "/" + kind);
}

constexpr EncodeOptions kAsText{.add_special = false, .control_tokens = false};

RC_GTEST_PROP(Tokenizers, of_bytes_return_any_text, (const std::string& bytes)) {
  static const auto kTokenizer = golden("deepseek_v3");
  RC_ASSERT(kTokenizer->decode_bytes(kTokenizer->encode(bytes, kAsText).value()) ==
            to_valid_utf8(bytes));
}

RC_GTEST_PROP(Tokenizers, of_characters_return_any_text_after_a_space, (const std::string& bytes)) {
  static const auto kTokenizer = golden("llama2");
  RC_PRE(!bytes.empty() && bytes.find("word") == std::string::npos);
  RC_ASSERT(kTokenizer->decode_bytes(kTokenizer->encode(bytes, kAsText).value()) ==
            " " + to_valid_utf8(bytes));
}

RC_GTEST_PROP(Tokenizers, texts_without_control_tokens_have_none_when_not_asked_for,
              (const std::vector<std::uint8_t>& choices)) {
  static const auto kTokenizer = golden("llama3");
  constexpr std::string_view kParts[] = {"<|end|>", "<|user|>", "<|", "|>", " ", "a", "\xC3\xA9"};
  std::string text;
  for (const std::uint8_t choice : choices) text += kParts[choice % std::size(kParts)];
  const auto encoded = kTokenizer->encode(text, kAsText).value();
  for (const TokenId token : encoded) {
    RC_ASSERT(!kTokenizer->is_control(token));
  }
  RC_ASSERT(kTokenizer->decode_bytes(kTokenizer->encode(text, kAsText).value()) == text);
}

/// The text up to where the first of the stop strings is complete.
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

RC_GTEST_PROP(Tokenizers, give_any_row_of_tokens_as_a_stream_that_is_exact,
              (const std::vector<std::uint16_t>& choices)) {
  // Tokens that no text has in this order: halves of characters beside each other, control tokens.
  for (const char* kind : {"gpt2", "llama2"}) {
    const auto tokenizer = golden(kind);
    std::vector<TokenId> tokens;
    for (const std::uint16_t choice : choices) {
      tokens.emplace_back(choice % tokenizer->vocabulary_size());
    }
    const std::vector<std::string> stops = {"th", "e", "\xEF\xBF\xBD\xEF\xBF\xBD", "the"};
    TextStream whole(*tokenizer);
    TextStream stopped(*tokenizer, stops);
    std::string all;
    std::string before;
    for (const TokenId token : tokens) {
      const std::string piece = whole.push(token);
      RC_ASSERT(piece == to_valid_utf8(piece));
      all += piece;
      before += stopped.push(token);
    }
    all += whole.finish();
    RC_ASSERT(all == tokenizer->decode(tokens));
    RC_ASSERT(before + stopped.finish() == cut_at_stop(all, stops));
  }
}

TEST(Tokenizers, options_choose_the_beginning_and_control_tokens) {
  const auto tokenizer = golden("llama3");
  const auto end = tokenizer->encode("<|end|>", {.add_special = false}).value();
  EXPECT_THAT(end, ElementsAreArray(tokenizer->eos_tokens()));
  EXPECT_EQ(tokenizer->encode("<|end|>").value().size(), 2u);
  const auto text = tokenizer->encode("<|end|>", kAsText).value();
  EXPECT_GT(text.size(), 1u);
  EXPECT_EQ(tokenizer->decode(text), "<|end|>");
}

TEST(Tokenizers, the_spelling_of_a_byte_in_a_text_is_text) {
  for (const char* kind : {"llama2", "unigram_words"}) {
    const auto tokenizer = golden(kind);
    EXPECT_EQ(tokenizer->decode(tokenizer->encode("<0x41>", kAsText).value()), " <0x41>") << kind;
  }
}

TEST(Tokenizers, a_long_word_is_no_problem) {
  const std::string word(std::size_t{1} << 20U, 'a');
  for (const std::string kind : {"gpt2", "llama2", "unigram"}) {
    const auto tokenizer = golden(kind);
    const auto tokens = tokenizer->encode(word, kAsText).value();
    EXPECT_EQ(tokenizer->decode_bytes(tokens), (kind == "gpt2" ? "" : " ") + word);
  }
}

TEST(Tokenizers, long_texts_of_each_kind_of_character_come_back) {
  const auto tokenizer = golden("deepseek_v3");
  for (const std::string_view part :
       {" ", "\n", " \n", "1", "\xE4\xBD\xA0", "!", "a ", "\xC3\xA9"}) {
    std::string text;
    while (text.size() < std::size_t{1} << 18U) text += part;
    EXPECT_EQ(tokenizer->decode_bytes(tokenizer->encode(text, kAsText).value()), text) << part;
  }
}

}  // namespace
}  // namespace forge::text
