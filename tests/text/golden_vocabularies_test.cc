// tests/golden/vocabularies: what its README says of a vocabulary beside the tokens of its texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>

#include "text/vocabulary_files.h"

namespace forge::text {
namespace {

using ::testing::ElementsAreArray;

/// The lines of a .bytes: of each token its bytes, two digits a byte.
std::vector<std::string> bytes_of_tokens(const std::string& path) {
  std::istringstream lines(test::text_of_file(path));
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < line.size(); i += 2) {
      unsigned byte = 0;
      std::from_chars(&line[i], &line[i] + 2, byte, 16);
      bytes += static_cast<char>(byte);
    }
    all.push_back(bytes);
  }
  return all;
}

class GoldenVocabularies : public ::testing::TestWithParam<const char*> {
 protected:
  const std::string path_ = std::string(FORGE_GOLDEN_VOCABULARIES) + "/" + GetParam();
  const std::unique_ptr<const Tokenizer> tokenizer_ = test::from_gguf(path_ + ".gguf");
  const std::vector<std::string> texts_ = test::texts_of(path_ + ".inp");
};

TEST_P(GoldenVocabularies, control_tokens_in_a_text_are_read_where_they_are_asked_for) {
  const auto expected = test::tokens_of(path_ + ".control.out");
  ASSERT_EQ(texts_.size(), expected.size());
  int with_control = 0;
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    EXPECT_THAT(tokenizer_->encode(texts_[i]).value(), ElementsAreArray(expected[i])) << texts_[i];
    // Behind the one that begins the text there are others.
    for (std::size_t at = 1; at < expected[i].size(); ++at) {
      with_control += tokenizer_->is_control(expected[i][at]) ? 1 : 0;
    }
  }
  EXPECT_GE(with_control, 1);
}

TEST_P(GoldenVocabularies, tokens_have_their_bytes_cut_characters_too) {
  const auto expected = bytes_of_tokens(path_ + ".bytes");
  ASSERT_EQ(tokenizer_->vocabulary_size(), expected.size());
  for (std::uint32_t id = 0; id < expected.size(); ++id) {
    EXPECT_EQ(tokenizer_->bytes_of(TokenId(id)), expected[id]) << id;
    EXPECT_EQ(tokenizer_->is_control(TokenId(id)), expected[id].empty()) << id;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, GoldenVocabularies,
                         ::testing::Values("llama-spm", "gpt-2", "deepseek-llm"),
                         [](const auto& vocabulary) {
                           std::string name = vocabulary.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(GoldenVocabulary, are_the_same_as_tokenizer_json) {
  for (const std::string name : {"gpt-2", "deepseek-llm"}) {
    const std::string path = std::string(FORGE_GOLDEN_VOCABULARIES) + "/" + name;
    const auto json = test::from_directory(path);
    const auto gguf = test::from_gguf(path + ".gguf");
    ASSERT_EQ(json->vocabulary_size(), gguf->vocabulary_size());
    for (std::uint32_t id = 0; id < json->vocabulary_size(); ++id) {
      EXPECT_EQ(json->bytes_of(TokenId(id)), gguf->bytes_of(TokenId(id))) << name << ' ' << id;
    }
    EXPECT_THAT(json->eos_tokens(), ElementsAreArray(gguf->eos_tokens()));
    for (const std::string& text : test::texts_of(path + ".inp")) {
      EXPECT_THAT(json->encode(text).value(), ElementsAreArray(gguf->encode(text).value())) << text;
    }
  }
}

}  // namespace
}  // namespace forge::text
