// tests/golden/pre_tokenizers: each way of cutting that a GGUF file can name, as Hugging Face's
// `tokenizers` cuts by the patterns of the models' own tokenizer.json.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "gguf_pre_tokenizers.h"
#include "text/checkpoint_files.h"

namespace forge::text::detail {
namespace {

PreTokenizer named(const std::string& name) {
  PreTokenizer pre_tokenizer;
  for (const auto& [pattern, cut] : find_gguf_pre_tokenizer(name)->cuts) {
    pre_tokenizer.add(Pattern::compile(pattern).value(), cut);
  }
  return pre_tokenizer;
}

std::vector<std::string> cut(const PreTokenizer& pre_tokenizer, const std::string& text) {
  std::vector<std::string> pieces;
  for (const std::string_view piece : pre_tokenizer.pieces(text)) pieces.emplace_back(piece);
  return pieces;
}

TEST(NamedPreTokenizers, cut_as_the_models_own) {
  std::set<std::string> names;
  for (const auto& entry : nlohmann::json::parse(
           test::text_of_file(std::string(FORGE_GOLDEN_PRE_TOKENIZERS) + "/pieces.json"))) {
    const std::string name = entry["name"];
    const std::vector<std::string> pieces = entry["pieces"];
    std::string text;
    for (const std::string& piece : pieces) text += piece;
    ASSERT_NE(find_gguf_pre_tokenizer(name), nullptr) << name;
    EXPECT_EQ(cut(named(name), text), pieces) << name << ": " << text;
    names.insert(name);
  }
  EXPECT_GT(names.size(), 30u);
}

TEST(NamedPreTokenizers, have_patterns_that_compile_and_names_of_their_own) {
  std::set<std::string_view> names;
  for (const NamedPreTokenizer& entry : gguf_pre_tokenizers()) {
    for (const std::string_view name : entry.names) EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_FALSE(entry.cuts.empty());
    for (const NamedCut& each : entry.cuts) {
      EXPECT_TRUE(Pattern::compile(each.pattern)) << entry.names[0];
    }
  }
  // Those of llama.cpp that people met first.
  for (const char* name : {"falcon", "viking", "bloom", "gpt-4o", "chameleon", "kimi-k2"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(NamedPreTokenizers, lose_nothing_of_long_rows) {
  for (const NamedPreTokenizer& entry : gguf_pre_tokenizers()) {
    if (entry.names[0] == "whitespace") continue;  // drops spaces
    const PreTokenizer pre_tokenizer = named(std::string(entry.names[0]));
    for (const std::string_view part :
         {"a", "A", "1", " ", "\n", "!", "\xE4\xBD\xA0", "a ", "1a"}) {
      std::string text;
      while (text.size() < std::size_t{1} << 18U) text += part;
      std::size_t bytes = 0;
      for (const std::string_view piece : pre_tokenizer.pieces(text)) bytes += piece.size();
      EXPECT_EQ(bytes, text.size()) << entry.names[0] << ' ' << part;
    }
  }
}

TEST(PreTokenizer, cuts_threes_from_the_end) {
  PreTokenizer threes;
  threes.add(Pattern::compile(R"(\p{N}+)").value(), PreTokenizer::Cut::threes);
  using Pieces = std::vector<std::string>;
  EXPECT_EQ(cut(threes, "a1234567b"), (Pieces{"a", "1", "234", "567", "b"}));
  EXPECT_EQ(cut(threes, "12"), (Pieces{"12"}));
  EXPECT_EQ(cut(threes, "123456"), (Pieces{"123", "456"}));
}

TEST(PreTokenizer, merges_matches_as_it_is_told) {
  const auto with = [](PreTokenizer::Cut how, const std::string& text) {
    PreTokenizer pre_tokenizer;
    pre_tokenizer.add(Pattern::compile("-").value(), how);
    return cut(pre_tokenizer, text);
  };
  using Pieces = std::vector<std::string>;
  using Cut = PreTokenizer::Cut;
  // The words of tokenizers' documentation of SplitDelimiterBehavior.
  const std::string text = "the-final--countdown";
  EXPECT_EQ(with(Cut::removed, text), (Pieces{"the", "final", "countdown"}));
  EXPECT_EQ(with(Cut::isolated, text), (Pieces{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(with(Cut::after, text), (Pieces{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(with(Cut::before, text), (Pieces{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(with(Cut::contiguous, text), (Pieces{"the", "-", "final", "--", "countdown"}));
}

TEST(PreTokenizer, sees_bytes_as_they_are_spelt) {
  PreTokenizer pre_tokenizer;
  // The byte B2 is spelt with the character U+00B2, a number.
  pre_tokenizer.add(Pattern::compile(R"(\p{N})").value(), PreTokenizer::Cut::isolated,
                    PreTokenizer::Sees::spelt_bytes);
  EXPECT_EQ(cut(pre_tokenizer, "a\xC2\xB2z"), (std::vector<std::string>{"a\xC2", "\xB2", "z"}));
}

}  // namespace
}  // namespace forge::text::detail
