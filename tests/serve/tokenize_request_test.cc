// From texts to tokens: what is refused before a token is made, and what only then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "forge/serve/openai_api.h"
#include "forge/text/byte_tokenizer.h"

namespace forge::serve {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

const ModelCard kCard{.id = "m", .vocabulary_size = 320, .context_tokens = 100, .created = 1};

/// Two tokens of its own, to begin a sequence and for "<end>", and bytes.
class MarkedTokenizer final : public text::Tokenizer {
 public:
  static constexpr TokenId kBegin{300};
  static constexpr TokenId kEnd{301};

  explicit MarkedTokenizer(std::optional<std::size_t> token_bytes_max = 5)
      : token_bytes_max_(token_bytes_max) {}

  std::uint32_t vocabulary_size() const override { return bytes_.vocabulary_size(); }
  text::EncodedText encode(std::string_view text, text::EncodeOptions options) const override {
    std::vector<TokenId> tokens;
    if (options.add_special) tokens.push_back(kBegin);
    if (options.control_tokens && text == "<end>") {
      tokens.push_back(kEnd);
      return tokens;
    }
    for (const TokenId token : text::ByteTokenizer::tokens_of(text)) tokens.push_back(token);
    return tokens;
  }
  std::optional<std::size_t> token_bytes_max() const override { return token_bytes_max_; }
  std::string_view bytes_of(TokenId token) const override { return bytes_.bytes_of(token); }
  bool is_control(TokenId token) const override { return bytes_.is_control(token); }
  std::span<const TokenId> eos_tokens() const override { return bytes_.eos_tokens(); }

 private:
  text::ByteTokenizer bytes_;
  std::optional<std::size_t> token_bytes_max_;
};

/// A request with `patch`.
UntokenizedRequest parsed(const json& patch) {
  json body = {{"model", "m"}, {"prompt", "hi"}};
  for (const auto& [name, value] : patch.items()) body[name] = value;
  return parse_request(RequestKind::completions, body.dump(), kCard).value();
}

std::vector<TokenId> prompt_tokens(const json& patch) {
  return tokenize(parsed(patch), kCard, MarkedTokenizer(), {}).value().prompts.at(0);
}

std::optional<std::string> known_as_too_long(const json& patch, const text::Tokenizer& tokenizer) {
  const auto error = length_error(parsed(patch), kCard, tokenizer);
  if (!error) return std::nullopt;
  EXPECT_EQ(error->status, 400U);
  EXPECT_EQ(error->code, "context_length_exceeded");
  return error->message;
}

std::string refusal(const json& patch, const text::Tokenizer& tokenizer) {
  return tokenize(parsed(patch), kCard, tokenizer, {}).error().message;
}

TEST(TokenizeRequest, a_text_begins_with_the_token_of_its_tokenizer_unless_told_otherwise) {
  const TokenId letter = text::ByteTokenizer::token_of('a');
  EXPECT_THAT(prompt_tokens({{"prompt", "a"}}), ElementsAre(MarkedTokenizer::kBegin, letter));
  EXPECT_THAT(prompt_tokens({{"prompt", "a"}, {"add_special_tokens", false}}), ElementsAre(letter));
  EXPECT_THAT(prompt_tokens({{"prompt", ""}}), ElementsAre(MarkedTokenizer::kBegin));
  EXPECT_THAT(prompt_tokens({{"prompt", json::array({7})}}), ElementsAre(TokenId(7)))
      << "token ids are taken as they are";
}

TEST(TokenizeRequest, control_tokens_are_read_in_a_text_unless_told_otherwise) {
  EXPECT_THAT(prompt_tokens({{"prompt", "<end>"}, {"add_special_tokens", false}}),
              ElementsAre(MarkedTokenizer::kEnd));
  EXPECT_EQ(
      prompt_tokens({{"prompt", "<end>"}, {"add_special_tokens", false}, {"parse_special", false}}),
      text::ByteTokenizer::tokens_of("<end>"));
}

TEST(TokenizeRequest, prompts_keep_their_order_and_all_else_is_as_it_was) {
  const auto request =
      parsed({{"prompt", {"a", "b"}}, {"max_tokens", 7}, {"stop", "x"}, {"seed", 3}});
  const CompletionRequest done = tokenize(request, kCard, text::ByteTokenizer(), {}).value();
  EXPECT_THAT(done.prompts, ElementsAre(text::ByteTokenizer::tokens_of("a"),
                                        text::ByteTokenizer::tokens_of("b")));
  EXPECT_EQ(static_cast<const CompletionOptions&>(done), request);
}

TEST(TokenizeRequest, a_prompt_without_tokens_is_refused) {
  EXPECT_EQ(refusal({{"prompt", ""}}, text::ByteTokenizer()),
            "prompt is empty; accepted are 1 .. 99 tokens");
  EXPECT_EQ(refusal({{"prompt", {"a", ""}}}, text::ByteTokenizer()),
            "prompt[1] is empty; accepted are 1 .. 99 tokens");
}

TEST(TokenizeRequest, prompt_and_max_tokens_may_fill_the_context_and_no_more) {
  const MarkedTokenizer tokenizer;
  const auto body = [](std::size_t bytes) {
    return json{{"prompt", std::string(bytes, 'x')}, {"max_tokens", 40}};
  };
  const auto fits = tokenize(parsed(body(59)), kCard, tokenizer, {});
  ASSERT_TRUE(fits);
  EXPECT_EQ(fits->prompts[0].size(), 60U);
  EXPECT_EQ(known_as_too_long(body(60), tokenizer), std::nullopt) << "it could be 12 tokens";
  EXPECT_EQ(refusal(body(60), tokenizer),
            "prompt of 61 tokens and max_tokens 40 are 101 tokens; the context of model 'm' has "
            "100");
}

TEST(LengthError, names_a_text_that_has_too_many_bytes_for_the_tokens_that_there_is_room_for) {
  const auto said = [](std::size_t bytes, int max_tokens, std::size_t token_bytes_max) {
    return known_as_too_long({{"prompt", std::string(bytes, 'x')}, {"max_tokens", max_tokens}},
                             MarkedTokenizer(token_bytes_max));
  };
  EXPECT_EQ(said(300, 40, 5), std::nullopt);
  EXPECT_EQ(said(301, 40, 5),
            "prompt of 301 bytes is too long: max_tokens 40 leaves room for 60 tokens, of up to "
            "5 bytes each; accepted are up to 300 bytes; the context of model 'm' has 100 tokens");
  EXPECT_EQ(said(60, 40, 1), std::nullopt);
  EXPECT_NE(said(61, 40, 1), std::nullopt);
  EXPECT_EQ(said(5, 99, 5), std::nullopt);
  EXPECT_NE(said(6, 99, 5), std::nullopt);
  EXPECT_EQ(said(2000, 16, SIZE_MAX), std::nullopt) << "nothing overflows";
}

TEST(LengthError, names_the_one_prompt_of_several_that_is_too_long) {
  EXPECT_THAT(
      known_as_too_long({{"prompt", {"a", std::string(85, 'x')}}}, text::ByteTokenizer()).value(),
      ::testing::StartsWith("prompt[1] of 85 bytes is too long: max_tokens 16 leaves room for"));
}

TEST(LengthError, counts_token_ids) {
  const auto ids = [](std::size_t count) {
    return json{{"prompt", json::array({"text", std::vector<int>(count, 7)})}};
  };
  EXPECT_EQ(known_as_too_long(ids(84), MarkedTokenizer()), std::nullopt);
  EXPECT_EQ(known_as_too_long(ids(85), MarkedTokenizer()),
            "prompt[1] of 85 tokens and max_tokens 16 are 101 tokens; the context of model 'm' "
            "has 100");
}

TEST(LengthError, says_nothing_of_texts_where_a_token_stands_for_any_number_of_bytes) {
  const json body = {{"prompt", std::string(5000, 'x')}};
  EXPECT_EQ(known_as_too_long(body, MarkedTokenizer(std::nullopt)), std::nullopt);
  EXPECT_THAT(refusal(body, MarkedTokenizer(std::nullopt)),
              ::testing::StartsWith("prompt of 5001 tokens and max_tokens 16 are 5017 tokens"));
}

TEST(LengthError, a_max_tokens_that_leaves_no_room_is_at_fault_itself) {
  EXPECT_EQ(known_as_too_long({{"max_tokens", 99}}, MarkedTokenizer()), std::nullopt);
  const auto error = length_error(parsed({{"max_tokens", 100}}), kCard, MarkedTokenizer());
  ASSERT_TRUE(error);
  EXPECT_EQ(error->param, "max_tokens");
  EXPECT_EQ(error->code, "context_length_exceeded");
  EXPECT_EQ(error->message,
            "max_tokens is 100, which leaves no room for a prompt; the context of model 'm' has "
            "100 tokens");
}

}  // namespace
}  // namespace forge::serve
