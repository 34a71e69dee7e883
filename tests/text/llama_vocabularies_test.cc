// The test vectors of llama.cpp: for each vocabulary, texts and the tokens that they become.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "text/checkpoint_files.h"

namespace forge {
namespace {

using ::testing::ElementsAreArray;

constexpr EncodeOptions kPlain{.begin_of_sequence = false, .control_tokens = false};

std::vector<std::string> texts_of(const std::string& path) {
  const std::string separator = "\n__ggml_vocab_test__\n";
  const std::string all = test::text_of_file(path);
  std::vector<std::string> texts;
  std::size_t done = 0;
  for (std::size_t at = all.find(separator); at != std::string::npos;
       at = all.find(separator, done)) {
    texts.push_back(all.substr(done, at - done));
    done = at + separator.size();
  }
  return texts;
}

std::vector<std::vector<TokenId>> tokens_of(const std::string& path) {
  std::istringstream lines(test::text_of_file(path));
  std::vector<std::vector<TokenId>> all;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<TokenId> tokens;
    for (std::uint32_t id = 0; words >> id;) tokens.emplace_back(id);
    all.push_back(tokens);
  }
  return all;
}

class LlamaVocabularies : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(FORGE_TOKENIZERS)) GTEST_SKIP() << "no " << FORGE_TOKENIZERS;
    path_ = std::string(FORGE_TOKENIZERS) + "/" + GetParam();
    tokeniser_ = test::from_gguf(path_ + ".gguf");
    texts_ = texts_of(path_ + ".inp");
  }

  std::string path_;
  std::unique_ptr<const Tokeniser> tokeniser_;
  std::vector<std::string> texts_;
};

TEST_P(LlamaVocabularies, every_text_becomes_the_tokens_of_llama_cpp) {
  const auto expected = tokens_of(path_ + ".out");
  ASSERT_EQ(texts_.size(), expected.size());
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    EXPECT_THAT(tokeniser_->encode(texts_[i], kPlain), ElementsAreArray(expected[i]))
        << "text " << i << ": " << texts_[i];
  }
}

TEST_P(LlamaVocabularies, every_text_comes_back) {
  const bool has_space_before = std::string(GetParam()) == "llama-spm";
  for (const std::string& text : texts_) {
    const std::string expected = has_space_before && !text.empty() ? " " + text : text;
    EXPECT_EQ(tokeniser_->decode_bytes(tokeniser_->encode(text)), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, LlamaVocabularies,
                         ::testing::Values("llama-spm", "gpt-2", "deepseek-llm"),
                         [](const auto& file) {
                           std::string name = file.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace forge
