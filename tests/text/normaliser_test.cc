// The steps of a normaliser, and where in the encoding of a text they are done.
#include "normaliser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "text/checkpoint_files.h"

namespace forge::text {
namespace {

using detail::Normaliser;
using nlohmann::json;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

const std::string kAcute = "\xCC\x81";   // U+0301
const std::string kEAcute = "\xC3\xA9";  // U+00E9
const std::string kMark(detail::kSpaceMark);

TEST(Normaliser, does_its_steps_in_the_order_in_which_they_were_added) {
  Normaliser compose_first;
  compose_first.compose();
  compose_first.replace("'", kAcute);
  EXPECT_EQ(compose_first.apply("e'e" + kAcute, true), "e" + kAcute + kEAcute);

  Normaliser replace_first;
  replace_first.replace("'", kAcute);
  replace_first.compose();
  replace_first.replace(kEAcute, "E");
  EXPECT_EQ(replace_first.apply("e'e" + kAcute, true), "EE");
}

TEST(Normaliser, composes_each_part_by_itself) {
  Normaliser normaliser;
  normaliser.compose();
  EXPECT_EQ(normaliser.apply("e" + kAcute, true), kEAcute);
  EXPECT_EQ(normaliser.apply(kAcute, false), kAcute);
  EXPECT_EQ(normaliser.apply("", true), "");
}

TEST(Normaliser, knows_whether_it_writes_marks_for_spaces) {
  Normaliser normaliser;
  EXPECT_FALSE(normaliser.changes_text());
  normaliser.compose();
  EXPECT_TRUE(normaliser.changes_text());
  EXPECT_FALSE(normaliser.writes_space_mark());
  normaliser.replace(" ", kMark);
  EXPECT_TRUE(normaliser.writes_space_mark());
}

/// The golden tokeniser `kind` with another normaliser.
LoadedTokeniser with_normaliser(const std::string& kind, const json& normaliser) {
  const std::string path = std::string(FORGE_GOLDEN_TOKENISERS) + "/" + kind + "/tokenizer.json";
  json file = json::parse(test::text_of_file(path));
  file["normalizer"] = normaliser;
  return parse_tokeniser(file.dump(), {}, "t.json");
}

const json kNfc = {{"type", "NFC"}};

TEST(Normaliser, of_a_file_that_asks_for_composed_text_composes_it) {
  const auto composing = test::taken(with_normaliser("qwen2", kNfc));
  const auto not_composing = test::taken(with_normaliser("qwen2", nullptr));
  const std::string text = "cafe" + kAcute;
  EXPECT_THAT(composing->encode(text), ElementsAreArray(composing->encode("caf" + kEAcute)));
  EXPECT_EQ(composing->decode(composing->encode(text)), "caf" + kEAcute);
  EXPECT_EQ(not_composing->decode(not_composing->encode(text)), text);
}

TEST(Normaliser, does_not_join_what_an_added_token_parts) {
  const auto tokeniser = test::taken(with_normaliser("qwen2", kNfc));
  const auto tokens = tokeniser->encode("e<|end|>" + kAcute);
  EXPECT_EQ(tokeniser->decode(tokens), "e" + kAcute);
  EXPECT_EQ(tokens.front(), tokeniser->encode("e").front());
}

TEST(Normaliser, composes_before_spaces_are_marked) {
  const json normaliser = {
      {"type", "Sequence"},
      {"normalizers",
       {kNfc,
        {{"type", "Prepend"}, {"prepend", kMark}},
        {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kMark}}}}};
  const auto tokeniser = test::taken(with_normaliser("llama2", normaliser));
  EXPECT_EQ(tokeniser->decode(tokeniser->encode("e" + kAcute + " e" + kAcute)),
            " " + kEAcute + " " + kEAcute);
}

TEST(Normaliser, that_only_composes_leaves_spaces_without_a_token) {
  const auto loaded = with_normaliser("llama2", kNfc);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("nor a normalizer that writes U+2581"));
}

}  // namespace
}  // namespace forge::text
