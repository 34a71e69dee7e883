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
    EXPECT_THAT(tokenizer_->encode(vector.text), ElementsAreArray(vector.ids)) << vector.text;
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
                                           "llama2", "mistral", "unknown"),
                         [](const auto& kind) { return std::string(kind.param); });

std::unique_ptr<const Tokenizer> golden(const std::string& kind) {
  return test::from_directory(std::string(FORGE_GOLDEN_TOKENISERS) + "/" + kind);
}

constexpr EncodeOptions kAsText{.begin_of_sequence = false, .control_tokens = false};

RC_GTEST_PROP(Tokenizers, of_bytes_return_any_text, (const std::string& bytes)) {
  static const auto kTokenizer = golden("deepseek_v3");
  RC_ASSERT(kTokenizer->decode_bytes(kTokenizer->encode(bytes, kAsText)) == to_valid_utf8(bytes));
}

RC_GTEST_PROP(Tokenizers, of_characters_return_any_text_after_a_space, (const std::string& bytes)) {
  static const auto kTokenizer = golden("llama2");
  RC_PRE(!bytes.empty() && bytes.find("word") == std::string::npos);
  RC_ASSERT(kTokenizer->decode_bytes(kTokenizer->encode(bytes, kAsText)) ==
            " " + to_valid_utf8(bytes));
}

RC_GTEST_PROP(Tokenizers, texts_without_control_tokens_have_none_when_not_asked_for,
              (const std::vector<std::uint8_t>& choices)) {
  static const auto kTokenizer = golden("llama3");
  constexpr std::string_view kParts[] = {"<|end|>", "<|user|>", "<|", "|>", " ", "a", "\xC3\xA9"};
  std::string text;
  for (const std::uint8_t choice : choices) text += kParts[choice % std::size(kParts)];
  for (const TokenId token : kTokenizer->encode(text, kAsText)) {
    RC_ASSERT(!kTokenizer->is_control(token));
  }
  RC_ASSERT(kTokenizer->decode_bytes(kTokenizer->encode(text, kAsText)) == text);
}

TEST(Tokenizers, options_choose_the_beginning_and_control_tokens) {
  const auto tokenizer = golden("llama3");
  const auto end = tokenizer->encode("<|end|>", {.begin_of_sequence = false});
  EXPECT_THAT(end, ElementsAreArray(tokenizer->eos_tokens()));
  EXPECT_EQ(tokenizer->encode("<|end|>").size(), 2u);
  const auto text = tokenizer->encode("<|end|>", kAsText);
  EXPECT_GT(text.size(), 1u);
  EXPECT_EQ(tokenizer->decode(text), "<|end|>");
}

TEST(Tokenizers, a_long_word_is_no_problem) {
  const std::string word(std::size_t{1} << 20U, 'a');
  for (const char* kind : {"gpt2", "llama2"}) {
    const auto tokenizer = golden(kind);
    const auto tokens = tokenizer->encode(word, kAsText);
    EXPECT_EQ(tokenizer->decode_bytes(tokens), (std::string(kind) == "llama2" ? " " : "") + word);
  }
}

TEST(Tokenizers, long_texts_of_each_kind_of_character_come_back) {
  const auto tokenizer = golden("deepseek_v3");
  for (const std::string_view part :
       {" ", "\n", " \n", "1", "\xE4\xBD\xA0", "!", "a ", "\xC3\xA9"}) {
    std::string text;
    while (text.size() < std::size_t{1} << 18U) text += part;
    EXPECT_EQ(tokenizer->decode_bytes(tokenizer->encode(text, kAsText)), text) << part;
  }
}

}  // namespace
}  // namespace forge::text
