// The steps of a normalizer, and where in the encoding of a text they are done.
#include "normalizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "text/checkpoint_files.h"

namespace forge::text {
namespace {

using detail::Normalizer;
using nlohmann::json;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

const std::string kAcute = "\xCC\x81";   // U+0301
const std::string kEAcute = "\xC3\xA9";  // U+00E9
const std::string kMark(detail::kSpaceMark);

TEST(Normalizer, does_its_steps_in_the_order_in_which_they_were_added) {
  Normalizer compose_first;
  compose_first.compose();
  compose_first.replace("'", kAcute);
  EXPECT_EQ(compose_first.apply("e'e" + kAcute, true), "e" + kAcute + kEAcute);

  Normalizer replace_first;
  replace_first.replace("'", kAcute);
  replace_first.compose();
  replace_first.replace(kEAcute, "E");
  EXPECT_EQ(replace_first.apply("e'e" + kAcute, true), "EE");
}

TEST(Normalizer, composes_each_part_by_itself) {
  Normalizer normalizer;
  normalizer.compose();
  EXPECT_EQ(normalizer.apply("e" + kAcute, true), kEAcute);
  EXPECT_EQ(normalizer.apply(kAcute, false), kAcute);
  EXPECT_EQ(normalizer.apply("", true), "");
}

TEST(Normalizer, knows_whether_it_writes_marks_for_spaces) {
  Normalizer normalizer;
  EXPECT_FALSE(normalizer.changes_text());
  normalizer.compose();
  EXPECT_TRUE(normalizer.changes_text());
  EXPECT_FALSE(normalizer.writes_space_mark());
  normalizer.replace(" ", kMark);
  EXPECT_TRUE(normalizer.writes_space_mark());
}

/// The golden tokenizer `kind` with another normalizer.
LoadedTokenizer with_normalizer(const std::string& kind, const json& normalizer) {
  const std::string path = std::string(FORGE_GOLDEN_TOKENISERS) + "/" + kind + "/tokenizer.json";
  json file = json::parse(test::text_of_file(path));
  file["normalizer"] = normalizer;
  return parse_tokenizer(file.dump(), {}, "t.json");
}

/// Bytes in any order have tokens, and tokens are as they are: what comes back is what the
/// normalizer made.
TEST(Normalizer, of_each_kind_makes_what_the_reference_makes) {
  const std::string folder = std::string(FORGE_GOLDEN_TOKENISERS);
  json file = json::parse(test::text_of_file(folder + "/gpt2/tokenizer.json"));
  file["added_tokens"] = json::array();
  const json all = json::parse(test::text_of_file(folder + "/normalizers.json"));
  ASSERT_EQ(all.size(), 14U);
  for (const json& entry : all) {
    file["normalizer"] = entry["normalizer"];
    const auto tokenizer = test::taken(parse_tokenizer(file.dump(), {}, "t.json"));
    for (const json& text : entry["texts"]) {
      const auto tokens = tokenizer->encode(text[0].get<std::string>()).value();
      EXPECT_EQ(tokenizer->decode(tokens), text[1].get<std::string>()) << entry["name"] << text[0];
    }
  }
}

TEST(Normalizer, that_would_replace_what_is_between_characters_is_refused) {
  const auto loaded = with_normalizer(
      "qwen2", {{"type", "Replace"}, {"pattern", {{"Regex", "x*"}}}, {"content", "-"}});
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message,
              HasSubstr("normalizer.pattern may match without a character"));
}

const json kNfc = {{"type", "NFC"}};

TEST(Normalizer, of_a_file_that_asks_for_composed_text_composes_it) {
  const auto composing = test::taken(with_normalizer("qwen2", kNfc));
  const auto not_composing = test::taken(with_normalizer("qwen2", nullptr));
  const std::string text = "cafe" + kAcute;
  EXPECT_THAT(composing->encode(text).value(),
              ElementsAreArray(composing->encode("caf" + kEAcute).value()));
  EXPECT_EQ(composing->decode(composing->encode(text).value()), "caf" + kEAcute);
  EXPECT_EQ(not_composing->decode(not_composing->encode(text).value()), text);
}

TEST(Normalizer, does_not_join_what_an_added_token_parts) {
  const auto tokenizer = test::taken(with_normalizer("qwen2", kNfc));
  const auto tokens = tokenizer->encode("e<|end|>" + kAcute).value();
  EXPECT_EQ(tokenizer->decode(tokens), "e" + kAcute);
  EXPECT_EQ(tokens.front(), tokenizer->encode("e").value().front());
}

TEST(Normalizer, composes_before_spaces_are_marked) {
  const json normalizer = {
      {"type", "Sequence"},
      {"normalizers",
       {kNfc,
        {{"type", "Prepend"}, {"prepend", kMark}},
        {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kMark}}}}};
  const auto tokenizer = test::taken(with_normalizer("llama2", normalizer));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("e" + kAcute + " e" + kAcute).value()),
            " " + kEAcute + " " + kEAcute);
}

TEST(Normalizer, that_only_composes_leaves_spaces_without_a_token) {
  const auto loaded = with_normalizer("llama2", kNfc);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("nor a normalizer that writes U+2581"));
}

}  // namespace
}  // namespace forge::text
