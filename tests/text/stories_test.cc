// A trained checkpoint in both of its forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "forge/text/text_stream.h"
#include "text/checkpoint_files.h"

namespace forge {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

class StoriesTokeniser : public test::WithSharedData {
 protected:
  void SetUp() override {
    WithSharedData::SetUp();
    if (IsSkipped()) return;
    const std::string folder = FORGE_STORIES;
    json_ = test::from_directory(folder);
    gguf_ = test::from_gguf(folder + "/stories260K.gguf");
    const auto golden = nlohmann::json::parse(test::text_of_file(folder + "/golden.json"));
    for (const auto& entry : golden["cases"]) {
      texts_.push_back(entry["prompt"]);
      texts_.push_back(entry["text"]);
    }
  }

  std::unique_ptr<const Tokeniser> json_;
  std::unique_ptr<const Tokeniser> gguf_;
  std::vector<std::string> texts_;
};

TEST_F(StoriesTokeniser, both_forms_say_the_same_of_every_token) {
  ASSERT_EQ(json_->vocabulary_size(), 512u);
  ASSERT_EQ(gguf_->vocabulary_size(), 512u);
  for (std::uint32_t id = 0; id < 512; ++id) {
    EXPECT_EQ(json_->bytes_of(TokenId(id)), gguf_->bytes_of(TokenId(id))) << id;
    EXPECT_EQ(json_->is_control(TokenId(id)), id < 3) << id;
    EXPECT_EQ(gguf_->is_control(TokenId(id)), id < 3) << id;
  }
  EXPECT_THAT(json_->eos_tokens(), ElementsAre(TokenId(2)));
  EXPECT_THAT(gguf_->eos_tokens(), ElementsAre(TokenId(2)));
}

TEST_F(StoriesTokeniser, both_forms_encode_the_golden_texts_alike_and_decode_them) {
  ASSERT_EQ(texts_.size(), 6u);
  for (const std::string& text : texts_) {
    const auto tokens = json_->encode(text);
    EXPECT_EQ(tokens.front(), TokenId(1)) << "<s>";
    EXPECT_THAT(gguf_->encode(text), ElementsAreArray(tokens));
    EXPECT_EQ(json_->decode(tokens), " " + text);
  }
}

TEST_F(StoriesTokeniser, a_stream_of_tokens_gives_the_text_in_whole_characters) {
  const std::string text = "Lily saw a \xF0\x9F\xA6\x99 and said: \xC3\xA9t\xC3\xA9!";
  TextStream stream(*json_);
  std::string all;
  for (const TokenId token : json_->encode(text)) {
    const std::string piece = stream.push(token);
    EXPECT_EQ(piece, to_valid_utf8(piece));
    all += piece;
  }
  EXPECT_EQ(all + stream.finish(), " " + text);
}

}  // namespace
}  // namespace forge
