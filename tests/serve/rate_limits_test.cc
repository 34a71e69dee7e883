// What a request needs of its client's limits, and how a client is told of them.
#include "rate_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace forge::serve {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using Refusal = ClientTable::Refusal;

UntokenizedRequest untokenized() {
  UntokenizedRequest request;
  request.best_of = 3;
  request.max_tokens = 10;
  request.prompts = {{"prompt[0]", "a text"}, {"prompt[1]", std::vector<TokenId>(7)}};
  return request;
}

CompletionRequest tokenized(std::uint32_t max_tokens) {
  CompletionRequest request;
  request.best_of = 3;
  request.max_tokens = max_tokens;
  request.prompts = {std::vector<TokenId>(5), std::vector<TokenId>(7)};
  return request;
}

TEST(Demand, is_every_choice_of_every_prompt_and_each_prompt_once) {
  EXPECT_EQ(demand_of(tokenized(10)).requests, 6U);
  EXPECT_EQ(demand_of(tokenized(10)).tokens, 12U + 60U);
  EXPECT_EQ(demand_of(tokenized(0)).tokens, 12U);
}

TEST(Demand, is_at_first_what_is_sure) {
  UntokenizedRequest request = untokenized();
  EXPECT_EQ(demand_of(request).requests, 6U);
  EXPECT_EQ(demand_of(request).tokens, 1U + 7U + 60U);
  request.until_context_ends = true;
  EXPECT_EQ(demand_of(request).tokens, 1U + 7U + 6U);
}

TEST(Demand, of_an_answer_without_max_tokens_is_at_most_a_minutes) {
  CompletionRequest request = tokenized(1000);
  fit_to_minute(request, {});
  EXPECT_EQ(request.max_tokens, 1000U) << "there is no limit";
  fit_to_minute(request, {.tokens_per_minute = 100});
  EXPECT_EQ(request.max_tokens, 14U);
  EXPECT_LE(demand_of(request).tokens, 100U);
  fit_to_minute(request, {.tokens_per_minute = 10});
  EXPECT_EQ(request.max_tokens, 1U);
  EXPECT_GT(demand_of(request).tokens, 10U) << "the prompt alone is too much";
}

TEST(Priority, is_what_was_asked_or_the_highest_that_may_be_up_to_normal) {
  UntokenizedRequest request;
  EXPECT_FALSE(settle_priority(request, {}));
  EXPECT_EQ(request.priority, Priority::normal);
  request.priority.reset();
  EXPECT_FALSE(settle_priority(request, {.priority_max = Priority::low}));
  EXPECT_EQ(request.priority, Priority::low);
  request.priority = Priority::high;
  EXPECT_FALSE(settle_priority(request, {}));
  EXPECT_EQ(request.priority, Priority::high);
}

TEST(Priority, above_what_a_client_may_ask_for_is_403) {
  UntokenizedRequest request;
  request.priority = Priority::high;
  const auto refused = settle_priority(request, {.priority_max = Priority::normal});
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 403U);
  EXPECT_EQ(json::parse(refused->body)["error"],
            json({{"message", "priority is 'high'; accepted from this client is 'low', 'normal'"},
                  {"type", "permission_error"},
                  {"param", "priority"},
                  {"code", "priority_not_allowed"}}));
}

TEST(Refusal, is_429_and_says_when_to_come_again) {
  const Reply reply = reply_of(Refusal{.kind = LimitKind::tokens,
                                       .asked = 300,
                                       .limit = 600,
                                       .left = 120,
                                       .wait = milliseconds(17'001)});
  EXPECT_EQ(reply.status, 429U);
  EXPECT_THAT(reply.headers, ElementsAre(Pair(http::field::retry_after, "18")));
  EXPECT_EQ(json::parse(reply.body)["error"],
            json({{"message",
                   "tokens in a minute are limited to 600 for this client: 120 are left, 300 are "
                   "asked for; try again in 18 s"},
                  {"type", "rate_limit_error"},
                  {"param", nullptr},
                  {"code", "rate_limit_exceeded"}}));
}

TEST(Refusal, comes_again_after_a_second_at_the_earliest) {
  const Reply reply = reply_of(Refusal{
      .kind = LimitKind::waiting, .asked = 1, .limit = 1, .left = 0, .wait = milliseconds(3)});
  EXPECT_THAT(reply.headers, ElementsAre(Pair(http::field::retry_after, "1")));
  EXPECT_THAT(reply.body,
              HasSubstr("requests that wait at a time are limited to 1 for this client: "
                        "0 are left, 1 are asked for; try again in 1 s"));
}

TEST(Refusal, of_what_can_never_be_is_400) {
  const Reply tokens =
      reply_of(Refusal{.kind = LimitKind::tokens, .asked = 601, .limit = 600, .left = 600});
  EXPECT_EQ(tokens.status, 400U);
  EXPECT_TRUE(tokens.headers.empty());
  EXPECT_EQ(json::parse(tokens.body)["error"],
            json({{"message",
                   "prompts and max_tokens come to 601; tokens in a minute are limited to 600 for "
                   "this client"},
                  {"type", "invalid_request_error"},
                  {"param", "max_tokens"},
                  {"code", "request_too_large"}}));
  const Reply requests =
      reply_of(Refusal{.kind = LimitKind::concurrent, .asked = 4, .limit = 3, .left = 3});
  EXPECT_THAT(requests.body, HasSubstr("prompts and choices come to 4; requests that run or "
                                       "wait at a time are limited to 3 for this client"));
}

TEST(LimitHeaders, are_those_of_limits_that_there_are) {
  EXPECT_TRUE(headers_of({}).empty());
  EXPECT_THAT(
      headers_of({.requests = ClientTable::Share{8, 5, milliseconds(1000)},
                  .tokens = ClientTable::Share{60000, 48210, milliseconds(11'790)}}),
      ElementsAre(
          Pair("x-ratelimit-limit-requests", "8"), Pair("x-ratelimit-remaining-requests", "5"),
          Pair("x-ratelimit-reset-requests", "1s"), Pair("x-ratelimit-limit-tokens", "60000"),
          Pair("x-ratelimit-remaining-tokens", "48210"), Pair("x-ratelimit-reset-tokens", "12s")));
}

TEST(LimitHeaders, have_the_names_that_pages_may_read) {
  std::string names;
  const auto all = headers_of({.requests = ClientTable::Share(), .tokens = ClientTable::Share()});
  for (const auto& [name, value] : all) names += (names.empty() ? "" : ", ") + name;
  EXPECT_EQ(names, kLimitHeaderNames);
}

TEST(LimitHeaders, have_durations_as_openai_writes_them) {
  EXPECT_EQ(duration_text(milliseconds(0)), "0s");
  EXPECT_EQ(duration_text(milliseconds(250)), "250ms");
  EXPECT_EQ(duration_text(milliseconds(1000)), "1s");
  EXPECT_EQ(duration_text(milliseconds(1001)), "2s");
  EXPECT_EQ(duration_text(milliseconds(59'999)), "1m0s");
  EXPECT_EQ(duration_text(milliseconds(360'000)), "6m0s");
}

}  // namespace
}  // namespace forge::serve
