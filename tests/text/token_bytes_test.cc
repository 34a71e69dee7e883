// Tokenizer::token_bytes_max: no text has fewer tokens than it promises, and where a checkpoint
// lets a token stand for any number of bytes it promises nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "forge/text/byte_tokenizer.h"
#include "text/checkpoint_files.h"
#include "trained_checkpoints.h"

namespace forge::text {
namespace {

using nlohmann::json;
using ::testing::Optional;

using Change = std::function<void(json&)>;

/// A golden tokenizer after `change`.
std::unique_ptr<const Tokenizer> changed(const std::string& kind, const Change& change) {
  const std::string folder = std::string(FORGE_GOLDEN_TOKENISERS) + "/" + kind;
  json file = json::parse(test::text_of_file(folder + "/tokenizer.json"));
  change(file);
  return test::taken(
      parse_tokenizer(file.dump(), test::text_of_file(folder + "/tokenizer_config.json"), folder));
}

/// All golden ones have a token that takes the space beside it.
void leave_space(json& file) {
  for (json& token : file["added_tokens"]) token["lstrip"] = token["rstrip"] = false;
}

bool holds(const Tokenizer& tokenizer, const std::string& text) {
  const std::size_t bytes_max = tokenizer.token_bytes_max().value();
  for (const bool begin : {false, true}) {
    for (const bool control : {false, true}) {
      if (tokenizer.encode(text, {begin, control}).value().size() * bytes_max < text.size())
        return false;
    }
  }
  return true;
}

/// What tokenizers treat in a way of their own: long tokens, added tokens, space, numbers, what
/// normal form C makes shorter, unknown characters and bytes that are no text.
constexpr std::string_view kParts[] = {"<|end|>",
                                       "<strip>",
                                       "added word",
                                       "word",
                                       "e\xCC\x81"
                                       "cole",
                                       " ",
                                       "        ",
                                       "\n",
                                       "\t",
                                       "\xE2\x96\x81",
                                       "\xC2\xA0",
                                       "the",
                                       " and",
                                       "'s",
                                       "12345",
                                       "aaaaaaaa",
                                       "\xC3\xA9",
                                       "\xCC\x81",
                                       "\xCC\x88",
                                       "\xE1\xBE\xBE",
                                       "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB",
                                       "\xE2\x84\xAA",
                                       "\xF0\x9F\xA6\x99",
                                       "\xE4\xBD\xA0",
                                       "\xFF",
                                       "\xE4\xBD"};

std::string text_of(const std::vector<std::uint8_t>& choices) {
  std::string text;
  for (const std::uint8_t choice : choices) text += kParts[choice % std::size(kParts)];
  return text;
}

class TokenBytes : public ::testing::TestWithParam<const char*> {
 protected:
  const std::unique_ptr<const Tokenizer> tokenizer_ = changed(GetParam(), leave_space);
};

TEST_P(TokenBytes, no_text_of_hostile_parts_has_fewer_tokens_than_promised) {
  EXPECT_TRUE(rc::check([&](const std::vector<std::uint8_t>& choices) {
    RC_ASSERT(holds(*tokenizer_, text_of(choices)));
  }));
}

TEST_P(TokenBytes, no_random_bytes_have_fewer_tokens_than_promised) {
  EXPECT_TRUE(rc::check([&](const std::string& bytes) { RC_ASSERT(holds(*tokenizer_, bytes)); }));
}

TEST_P(TokenBytes, no_row_of_one_thing_has_fewer_tokens_than_promised) {
  for (const std::string_view part : kParts) {
    std::string row;
    for (int i = 0; i < 500; ++i) row += part;
    EXPECT_TRUE(holds(*tokenizer_, row)) << part;
  }
  for (std::uint32_t id = 0; id < tokenizer_->vocabulary_size(); ++id) {
    std::string row;
    for (int i = 0; i < 20; ++i) row += tokenizer_->bytes_of(TokenId(id));
    EXPECT_TRUE(holds(*tokenizer_, row)) << id;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, TokenBytes,
                         ::testing::Values("gpt2", "prefix_space", "digits", "llama3", "qwen2",
                                           "deepseek_v3", "deepseek_coder", "llama2", "mistral"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST(TokenBytesOfByteTokenizer, are_one) {
  const ByteTokenizer tokenizer;
  EXPECT_THAT(tokenizer.token_bytes_max(), Optional(1u));
  EXPECT_TRUE(rc::check([&](const std::string& bytes) { RC_ASSERT(holds(tokenizer, bytes)); }));
}

TEST(TokenBytesOfUnknownCharacters, are_those_of_as_many_as_the_longest_spelling_has) {
  const auto tokenizer = changed("unknown", [](json& file) {
    leave_space(file);
    file["model"]["fuse_unk"] = false;
  });
  EXPECT_TRUE(rc::check([&](const std::vector<std::uint8_t>& choices) {
    RC_ASSERT(holds(*tokenizer, text_of(choices)));
  }));
  // The unknown token spelt with one byte, and merged with itself: 8 bytes of text, 2 of spelling.
  const auto merged = changed("unknown", [](json& file) {
    file["added_tokens"] = json::array();
    file["post_processor"] = nullptr;
    file["model"] = {{"type", "BPE"},
                     {"unk_token", "?"},
                     {"fuse_unk", false},
                     {"vocab", {{"?", 0}, {"??", 1}, {"<s>", 2}, {"</s>", 3}}},
                     {"merges", {"? ?"}}};
  });
  const std::string text = "\xF0\x9F\xA6\x99\xF0\x9F\xA6\x99";
  EXPECT_EQ(merged->encode(text + text, {false, false}).value().size(), 3u)
      << "the mark is unknown, too";
  EXPECT_TRUE(holds(*merged, text + text));
}

/// What is promised of a golden tokenizer without greedy tokens after `change`.
std::optional<std::size_t> promised(const std::string& kind, const Change& change) {
  return changed(kind,
                 [&](json& file) {
                   leave_space(file);
                   change(file);
                 })
      ->token_bytes_max();
}

TEST(TokenBytesWithoutLimit, are_said_to_have_none) {
  const Change nothing = [](json&) {};
  EXPECT_TRUE(promised("gpt2", nothing));
  EXPECT_FALSE(changed("gpt2", nothing)->token_bytes_max()) << "<strip> takes space";
  for (const char* side : {"lstrip", "rstrip"}) {
    EXPECT_FALSE(promised("gpt2", [&](json& f) { f["added_tokens"][4][side] = true; })) << side;
    EXPECT_FALSE(promised("gpt2", [&](json& f) { f["added_tokens"][0][side] = true; })) << side;
  }
  EXPECT_FALSE(promised("unknown", nothing)) << "a row of unknown characters is one token";
  EXPECT_FALSE(promised("olmo2", nothing)) << "what the pattern does not match is dropped";
  EXPECT_FALSE(promised("composed", nothing)) << "U+00E9 becomes a letter of one byte";
  const json drop = {{"type", "Replace"}, {"pattern", {{"String", "x"}}}, {"content", ""}};
  EXPECT_FALSE(promised("gpt2", [&](json& f) { f["normalizer"] = drop; }));
}

TEST(TokenBytesOfLargeVocabularies, are_those_of_the_longest_token) {
  const auto promise = [](const std::string& kind) { return promised(kind, [](json&) {}).value(); };
  const auto longest = [](const std::string& kind) {
    const auto tokenizer = changed(kind, leave_space);
    std::size_t bytes = 0;
    for (std::uint32_t id = 0; id < tokenizer->vocabulary_size(); ++id) {
      bytes = std::max(bytes, tokenizer->bytes_of(TokenId(id)).size());
    }
    return bytes;
  };
  EXPECT_EQ(promise("gpt2"), longest("gpt2"));
  EXPECT_EQ(promise("llama3"), longest("llama3"));
  EXPECT_EQ(promise("qwen2"), 4 * longest("qwen2")) << "composed: 4 bytes become 1";
}

void expect_bound(const std::string& path, std::optional<std::size_t> expected) {
  const auto tokenizer = test::from_gguf(path);
  if (expected) {
    EXPECT_THAT(tokenizer->token_bytes_max(), expected) << path;
  }
  for (std::uint32_t id = 0; id < tokenizer->vocabulary_size(); ++id) {
    const std::string text(tokenizer->bytes_of(TokenId(id)));
    ASSERT_TRUE(holds(*tokenizer, text + text + text)) << path << ' ' << id;
  }
}

TEST(TokenBytesOfVocabularies, hold_for_rows_of_every_token) {
  for (const char* name : {"gpt-2", "deepseek-llm", "llama-spm"}) {
    expect_bound(std::string(FORGE_GOLDEN_VOCABULARIES) + "/" + name + ".gguf", std::nullopt);
  }
  expect_bound(std::string(FORGE_TALES) + "/tales.gguf", std::nullopt);
}

TEST(TokenBytesOfVocabularies, extra_hold_for_rows_of_every_token) {
  const std::string folder = FORGE_TOKENIZERS;
  for (const std::string& path : {folder, std::string(FORGE_STORIES)}) {
    if (const std::string why = testing::why_missing(path); !why.empty()) GTEST_SKIP() << why;
  }
  expect_bound(folder + "/gpt-2.gguf", 128);
  expect_bound(folder + "/deepseek-llm.gguf", 128);
  expect_bound(folder + "/llama-spm.gguf", 48);
  expect_bound(std::string(FORGE_STORIES) + "/stories260K.gguf", 9);
}

}  // namespace
}  // namespace forge::text
