// For vocabularies of three kinds, texts and the tokens that independent implementations make of
// them: small vocabularies of this repository (tests/golden/vocabularies/README.md), and as an
// extra those of llama.cpp's tests, where they are beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "forge/text/text_stream.h"
#include "text/vocabulary_files.h"

namespace forge::text {
namespace {

using ::testing::ElementsAreArray;

struct Vocabulary {
  const char* name;
  const char* folder;
  bool is_extra;

  /// As part of the name of a test.
  std::string label() const {
    std::string label = std::string(is_extra ? "extra_" : "") + name;
    for (char& c : label) c = c == '-' ? '_' : c;
    return label;
  }
};

void PrintTo(const Vocabulary& vocabulary, std::ostream* out) { *out << vocabulary.label(); }

class Vocabularies : public ::testing::TestWithParam<Vocabulary> {
 protected:
  void SetUp() override {
    const std::string folder = GetParam().folder;
    if (GetParam().is_extra && !std::filesystem::exists(folder)) {
      GTEST_SKIP() << "an extra test: there is no " << folder;
    }
    path_ = folder + "/" + GetParam().name;
    tokenizer_ = test::from_gguf(path_ + ".gguf");
    texts_ = test::texts_of(path_ + ".inp");
  }

  /// What is left of a text that became tokens.
  std::string come_back(const std::string& text) const {
    std::string expected = to_valid_utf8(text);
    if (std::string(GetParam().name) != "llama-spm" || expected.empty()) return expected;
    const std::string mark = "\u2581";  // stands for a space, so it is one
    for (auto at = expected.find(mark); at != expected.npos; at = expected.find(mark)) {
      expected.replace(at, mark.size(), " ");
    }
    return " " + expected;
  }

  std::string path_;
  std::unique_ptr<const Tokenizer> tokenizer_;
  std::vector<std::string> texts_;
};

TEST_P(Vocabularies, every_text_becomes_the_tokens_of_an_independent_implementation) {
  const auto expected = test::tokens_of(path_ + ".out");
  ASSERT_EQ(texts_.size(), expected.size());
  ASSERT_GT(texts_.size(), 40u);
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    EXPECT_THAT(tokenizer_->encode(texts_[i], test::kPlain).value(), ElementsAreArray(expected[i]))
        << "text " << i << ": " << texts_[i];
  }
}

TEST_P(Vocabularies, every_text_comes_back) {
  for (const std::string& text : texts_) {
    EXPECT_EQ(tokenizer_->decode_bytes(tokenizer_->encode(text, test::kPlain).value()),
              come_back(text));
  }
}

TEST_P(Vocabularies, a_stream_of_tokens_gives_every_text_in_whole_characters) {
  for (const std::string& text : texts_) {
    TextStream stream(*tokenizer_);
    std::string all;
    const auto encoded = tokenizer_->encode(text, test::kPlain).value();
    for (const TokenId token : encoded) {
      const std::string piece = stream.push(token);
      EXPECT_EQ(piece, to_valid_utf8(piece)) << text;
      all += piece;
    }
    EXPECT_EQ(all + stream.finish(), come_back(text));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, Vocabularies,
    ::testing::Values(Vocabulary{"llama-spm", FORGE_GOLDEN_VOCABULARIES, false},
                      Vocabulary{"gpt-2", FORGE_GOLDEN_VOCABULARIES, false},
                      Vocabulary{"deepseek-llm", FORGE_GOLDEN_VOCABULARIES, false},
                      Vocabulary{"llama-spm", FORGE_TOKENIZERS, true},
                      Vocabulary{"gpt-2", FORGE_TOKENIZERS, true},
                      Vocabulary{"deepseek-llm", FORGE_TOKENIZERS, true}),
    [](const auto& instance) { return instance.param.label(); });

}  // namespace
}  // namespace forge::text
