// The tokenizer of a trained checkpoint in both of its forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "forge/text/text_stream.h"
#include "text/checkpoint_files.h"
#include "trained_checkpoints.h"

namespace forge::text {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

class TrainedTokenizer : public testing::TrainedCheckpointTest {
 protected:
  void SetUp() override {
    TrainedCheckpointTest::SetUp();
    if (IsSkipped()) return;
    json_ = test::from_directory(GetParam().folder);
    gguf_ = test::from_gguf(GetParam().gguf());
    const auto golden = nlohmann::json::parse(test::text_of_file(GetParam().golden()));
    for (const auto& entry : golden["cases"]) {
      texts_.push_back(entry["prompt"]);
      texts_.push_back(entry["text"]);
    }
  }

  std::unique_ptr<const Tokenizer> json_;
  std::unique_ptr<const Tokenizer> gguf_;
  std::vector<std::string> texts_;
};

TEST_P(TrainedTokenizer, both_forms_say_the_same_of_every_token) {
  const std::uint32_t tokens = GetParam().vocabulary;
  ASSERT_EQ(json_->vocabulary_size(), tokens);
  ASSERT_EQ(gguf_->vocabulary_size(), tokens);
  for (std::uint32_t id = 0; id < tokens; ++id) {
    EXPECT_EQ(json_->bytes_of(TokenId(id)), gguf_->bytes_of(TokenId(id))) << id;
    EXPECT_EQ(json_->is_control(TokenId(id)), id < 3) << id;
    EXPECT_EQ(gguf_->is_control(TokenId(id)), id < 3) << id;
  }
  EXPECT_THAT(json_->eos_tokens(), ElementsAre(TokenId(2)));
  EXPECT_THAT(gguf_->eos_tokens(), ElementsAre(TokenId(2)));
}

TEST_P(TrainedTokenizer, both_forms_encode_the_golden_texts_alike_and_decode_them) {
  ASSERT_EQ(texts_.size(), 6u);
  for (const std::string& text : texts_) {
    const auto tokens = json_->encode(text).value();
    EXPECT_EQ(tokens.front(), TokenId(1)) << "<s>";
    EXPECT_THAT(gguf_->encode(text).value(), ElementsAreArray(tokens));
    EXPECT_EQ(json_->decode(tokens), " " + text);
  }
}

TEST_P(TrainedTokenizer, a_stream_of_tokens_gives_the_text_in_whole_characters) {
  const std::string text = "Lily saw a \xF0\x9F\xA6\x99 and said: \xC3\xA9t\xC3\xA9!";
  TextStream stream(*json_);
  std::string all;
  const auto encoded = json_->encode(text).value();
  for (const TokenId token : encoded) {
    const std::string piece = stream.push(token);
    EXPECT_EQ(piece, to_valid_utf8(piece));
    all += piece;
  }
  EXPECT_EQ(all + stream.finish(), " " + text);
}

INSTANTIATE_TEST_SUITE_P(Of, TrainedTokenizer, testing::both_trained_checkpoints(),
                         testing::label_of);

}  // namespace
}  // namespace forge::text
