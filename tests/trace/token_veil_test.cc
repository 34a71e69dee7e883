#include "forge/trace/token_veil.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

namespace forge::trace {
namespace {

constexpr SipKey kKey{.k0 = 1, .k1 = 2};

Request request_of(std::string_view text, CacheSalt salt = {}) {
  Request request;
  for (const char letter : text) request.prompt.emplace_back(static_cast<unsigned char>(letter));
  request.cache_salt = salt;
  return request;
}

std::vector<TokenId> first(const std::vector<TokenId>& tokens, std::size_t count) {
  return {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count)};
}

TEST(TokenVeil, equal_prefixes_are_equal_and_nothing_after_a_difference_is) {
  TokenVeil veil(kKey);
  const auto dog = veil.submit(SeqId{1}, request_of("the dog ran")).prompt;
  const auto cat = veil.submit(SeqId{2}, request_of("the cat ran")).prompt;
  EXPECT_EQ(dog.size(), 11U) << "its length is told";
  EXPECT_EQ(first(dog, 4), first(cat, 4));
  for (std::size_t i = 4; i < dog.size(); ++i) EXPECT_NE(dog[i], cat[i]) << i;
  EXPECT_EQ(veil.submit(SeqId{3}, request_of("the dog ran")).prompt, dog);
}

TEST(TokenVeil, one_token_is_another_one_at_each_place) {
  TokenVeil veil(kKey);
  const auto same = veil.submit(SeqId{1}, request_of("aaaaaaaaaaaaaaaa")).prompt;
  EXPECT_EQ(std::set(same.begin(), same.end()).size(), same.size());
}

TEST(TokenVeil, salts_part_prefixes_and_are_veiled_themselves) {
  TokenVeil veil(kKey);
  const auto plain = veil.submit(SeqId{1}, request_of("the dog"));
  const auto salted = veil.submit(SeqId{2}, request_of("the dog", CacheSalt{7}));
  EXPECT_EQ(plain.cache_salt, CacheSalt{});
  EXPECT_NE(salted.cache_salt, CacheSalt{7});
  EXPECT_NE(salted.cache_salt, CacheSalt{});
  for (std::size_t i = 0; i < plain.prompt.size(); ++i) {
    EXPECT_NE(plain.prompt[i], salted.prompt[i]);
  }
  EXPECT_EQ(veil.submit(SeqId{3}, request_of("the dog", CacheSalt{7})), salted);
}

TEST(TokenVeil, an_answer_goes_on_where_its_prompt_ended) {
  TokenVeil veil(kKey);
  const auto whole = veil.submit(SeqId{1}, request_of("the dog")).prompt;
  veil.submit(SeqId{2}, request_of("the"));
  const StepPlan plan{.slices = {{SeqId{2}, 0, 3, 0, true}}};
  const auto answer = [&](std::string_view text) {
    StepResult result{.slices = {{SeqId{2}, 0, static_cast<std::uint32_t>(text.size())}},
                      .tokens = request_of(text).prompt};
    return veil.step(plan, result).tokens;
  };
  EXPECT_EQ(answer(" d"), (std::vector{whole[3], whole[4]}));
  EXPECT_EQ(answer("og"), (std::vector{whole[5], whole[6]}));
}

TEST(TokenVeil, that_all_kv_is_lost_is_told) {
  TokenVeil veil(kKey);
  EXPECT_TRUE(veil.step({}, {.kv_lost = true}).kv_lost);
  EXPECT_FALSE(veil.step({}, {}).kv_lost);
}

TEST(TokenVeil, what_would_tell_of_tokens_otherwise_is_left_out) {
  TokenVeil veil(kKey);
  Request request = request_of("a");
  request.sampling.logit_bias = {{TokenId{3}, 1.0F}};
  request.sampling.grammar = OutputGrammar{.forms = {{.text = "secret"}}};
  request.sampling.temperature = 0.5F;
  const Request veiled = veil.submit(SeqId{1}, request);
  EXPECT_TRUE(veiled.sampling.logit_bias.empty());
  EXPECT_FALSE(veiled.sampling.grammar);
  EXPECT_EQ(veiled.sampling.temperature, 0.5F);
  const StepResult result{.slices = {{SeqId{1}, 0, 1}},
                          .tokens = {TokenId{7}},
                          .logits = {9},
                          .reports = {{.seq = SeqId{1}, .token = TokenId{7}, .likely_count = 1}},
                          .likely = {{TokenId{7}, -1.0F}}};
  const StepResult& told = veil.step({.slices = {{SeqId{1}, 0, 1, 0, true}}}, result);
  EXPECT_EQ(told.slices, result.slices);
  EXPECT_TRUE(told.logits.empty());
  EXPECT_TRUE(told.reports.empty());
  EXPECT_TRUE(told.likely.empty());
}

TEST(TokenVeil, two_at_random_have_nothing_in_common) {
  const Request request = request_of("abc");
  EXPECT_NE(TokenVeil::random().submit(SeqId{1}, request).prompt,
            TokenVeil::random().submit(SeqId{1}, request).prompt);
}

}  // namespace
}  // namespace forge::trace
