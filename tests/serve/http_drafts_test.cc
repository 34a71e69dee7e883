// What clients are told of drafts, over HTTP: usage, health.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forge/cpu/cpu_executor.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;

executor::ExecutorOptions with_text_drafts() {
  return {.drafts = 8, .draft_source = executor::DraftSource::ngram};
}

std::uint64_t drafts_of(const json& drafts) { return drafts["proposed"].get<std::uint64_t>(); }

class HttpDrafts : public ::testing::Test {
 protected:
  /// It is made to say one letter over and over.
  json answer(json patch = json::object()) {
    json body = completion("Hello", 60);
    body["temperature"] = 0;
    body["logit_bias"] = {{"98", 100}};
    body["ignore_eos"] = true;
    body.update(patch);
    const auto answer = client_.post("/v1/completions", body);
    EXPECT_EQ(answer.status, 200U) << answer.body;
    return answer.json();
  }

  cpu::CpuExecutor executor_{with_text_drafts(), cpu::seeded_cpu_model({}, with_text_drafts())};
  RunningServer server_{executor_, {.draft_source = "ngram", .acceptance = {0, 0}}};
  HttpClient client_{server_.port()};
};

TEST_F(HttpDrafts, are_counted_in_the_usage_of_their_answer) {
  const json usage = answer()["usage"];
  const json& drafts = usage["drafts"];
  EXPECT_EQ(drafts["source"], "ngram");
  const auto proposed = drafts["proposed"].get<std::uint64_t>();
  const auto accepted = drafts["accepted"].get<std::uint64_t>();
  EXPECT_GT(accepted, 0U);
  EXPECT_GE(proposed, accepted);
  EXPECT_EQ(usage["completion_tokens_details"],
            (json{{"accepted_prediction_tokens", accepted},
                  {"rejected_prediction_tokens", proposed - accepted}}));
}

TEST_F(HttpDrafts, of_several_choices_are_added_up) {
  const json one = answer()["usage"]["drafts"];
  const json three = answer({{"n", 3}})["usage"]["drafts"];  // greedy: three times the same
  EXPECT_EQ(three["proposed"], 3 * drafts_of(one));
  EXPECT_EQ(three["accepted"], 3 * one["accepted"].get<std::uint64_t>());
}

TEST_F(HttpDrafts, of_all_answers_are_in_the_health_with_an_alarm_where_they_are_not_as_expected) {
  const json one = answer()["usage"]["drafts"];
  EXPECT_EQ(client_.get("/forge/v1/health").json()["drafts"], one) << "fewer than are judged";
  for (std::uint64_t proposed = 0; proposed < 1100; proposed += drafts_of(one)) answer();
  const auto health = client_.get("/forge/v1/health");
  EXPECT_EQ(health.status, 200U) << "no answer is wrong";
  EXPECT_THAT(health.json()["drafts"]["alarm"].get<std::string>(),
              testing::HasSubstr("drafts were kept, expected are 0% to 0%"));
}

}  // namespace
}  // namespace forge::test
