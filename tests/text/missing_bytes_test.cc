// Vocabularies that lack tokens for some bytes: they load, and a text that needs such a byte is
// refused, or unknown where there is a token for that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "text/checkpoint_files.h"

namespace forge::text {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

/// Three letters, in place of a vocabulary.
json three_letters(json model) {
  model["type"] = "BPE";
  model["vocab"] = {{"a", 0}, {"b", 1}, {"ab", 2}, {"<?>", 3}};
  model["merges"] = {"a b"};
  return {{"model", model},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}}};
}

std::unique_ptr<const Tokenizer> tokenizer_of(const json& file) {
  return test::taken(parse_tokenizer(file.dump(), {}, "tokenizer.json"));
}

TEST(MissingBytes, are_named_where_a_text_needs_them) {
  const auto tokenizer = tokenizer_of(three_letters({}));
  EXPECT_THAT(tokenizer->encode("aab").value(), ElementsAre(TokenId(0), TokenId(2)));
  const auto refused = tokenizer->encode("ab\xF1\x80\x80\x80");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error(), MissingByte{241});
  EXPECT_EQ(to_string(refused.error()), "the vocabulary has no token for the byte 241");
  EXPECT_EQ(tokenizer->encode("a b").error(), MissingByte{32});
}

TEST(MissingBytes, are_the_unknown_token_where_there_is_one) {
  const auto each = tokenizer_of(three_letters({{"unk_token", "<?>"}}));
  EXPECT_THAT(each->encode("a!!b").value(),
              ElementsAre(TokenId(0), TokenId(3), TokenId(3), TokenId(1)));
  const auto fused = tokenizer_of(three_letters({{"unk_token", "<?>"}, {"fuse_unk", true}}));
  EXPECT_THAT(fused->encode("a!!b").value(), ElementsAre(TokenId(0), TokenId(3), TokenId(1)));
}

TEST(MissingBytes, of_characters_are_named_too) {
  json file = three_letters({});
  file["pre_tokenizer"] = {{"type", "Metaspace"}, {"prepend_scheme", "never"}};
  const auto tokenizer = tokenizer_of(file);
  EXPECT_THAT(tokenizer->encode("ab").value(), ElementsAre(TokenId(2)));
  EXPECT_EQ(tokenizer->encode("a\xC3\xA9").error(), MissingByte{0xC3});
}

TEST(MissingBytes, of_a_unigram_model_are_named_where_there_is_no_unknown_token) {
  json file;
  file["model"]["type"] = "Unigram";
  file["model"]["vocab"] = json::parse(R"([["a", -1.0], ["b", -2.0]])");
  EXPECT_EQ(tokenizer_of(file)->encode("ab\xC3\xA9").error(), MissingByte{0xC3});
  file["model"]["unk_id"] = 1;
  EXPECT_THAT(tokenizer_of(file)->encode("a\xC3\xA9\xC3\xA9").value(),
              ElementsAre(TokenId(0), TokenId(1)));
}

}  // namespace
}  // namespace forge::text
