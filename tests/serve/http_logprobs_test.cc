// What is told of tokens, over HTTP: logprobs, echo, flip_risk.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "forge/cpu/cpu_executor.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;

class HttpLogprobs : public ::testing::Test {
 protected:
  json choice(const json& patch) {
    json body = completion("Hello", 6);
    for (const auto& [name, value] : patch.items()) body[name] = value;
    const auto answer = client_.post("/v1/completions", body);
    EXPECT_EQ(answer.status, 200U) << answer.body;
    return answer.json()["choices"][0];
  }

  cpu::CpuExecutor executor_{{.drafts = 3}, cpu::seeded_cpu_model({}, {.drafts = 3})};
  RunningServer server_{executor_, {}};
  HttpClient client_{server_.port()};
};

TEST_F(HttpLogprobs, are_of_each_token_and_of_the_likeliest) {
  const json plain = choice(json::object());
  EXPECT_EQ(plain["logprobs"], nullptr);
  EXPECT_FALSE(plain.contains("forge"));
  const json told = choice({{"logprobs", 3}});
  EXPECT_EQ(told["text"], plain["text"]);
  const json& logprobs = told["logprobs"];
  ASSERT_EQ(logprobs["tokens"].size(), 6U);
  std::string text;
  for (std::size_t i = 0; i < 6; ++i) {
    text += logprobs["tokens"][i].get<std::string>();
    EXPECT_EQ(logprobs["text_offset"][i], i);
    const json& likely = logprobs["top_logprobs"][i];
    EXPECT_EQ(likely.size(), 3U);
    const double own = logprobs["token_logprobs"][i];
    EXPECT_EQ(likely[logprobs["tokens"][i].get<std::string>()], own);  // greedy: it is the best
    for (const auto& [token, logprob] : likely.items()) EXPECT_LE(logprob.get<double>(), own);
    EXPECT_LE(own, 0);
  }
  EXPECT_EQ(text, told["text"]);
}

/// Mean log-probability of the tokens of a choice.
double mean_of(const json& choice) {
  double sum = 0;
  for (const json& each : choice["logprobs"]["token_logprobs"]) sum += each.get<double>();
  return sum / static_cast<double>(choice["logprobs"]["token_logprobs"].size());
}

TEST_F(HttpLogprobs, rank_the_choices_of_best_of_which_are_told_only_where_asked) {
  const auto answer = [&](const json& patch) {
    json body = completion("Hello", 6);
    body.update({{"prompt", {"Hello", "Bye"}}, {"temperature", 1}, {"seed", 3}});
    body.update(patch);
    return client_.post("/v1/completions", body).json();
  };
  const json all = answer({{"n", 8}, {"logprobs", 0}});
  const json best = answer({{"n", 2}, {"best_of", 8}});
  EXPECT_EQ(best["usage"], all["usage"]) << "all are paid for";
  ASSERT_EQ(best["choices"].size(), 4U);
  for (std::size_t prompt = 0; prompt < 2; ++prompt) {
    std::vector<json> ranked(all["choices"].begin() + static_cast<std::ptrdiff_t>(8 * prompt),
                             all["choices"].begin() + static_cast<std::ptrdiff_t>(8 * prompt + 8));
    std::ranges::stable_sort(ranked, std::ranges::greater(), mean_of);
    for (std::size_t i = 0; i < 2; ++i) {
      const json& choice = best["choices"][2 * prompt + i];
      EXPECT_EQ(choice["text"], ranked[i]["text"]);
      EXPECT_EQ(choice["index"], 2 * prompt + i);
      EXPECT_EQ(choice["logprobs"], nullptr);
    }
  }
  const json told = answer({{"n", 2}, {"best_of", 8}, {"logprobs", 0}});
  EXPECT_EQ(told["choices"][0]["text"], best["choices"][0]["text"]);
  EXPECT_GT(mean_of(told["choices"][0]), mean_of(told["choices"][1]));
}

TEST_F(HttpLogprobs, of_all_tokens_are_a_distribution) {
  const json told = choice({{"logprobs", 20}, {"max_tokens", 1}});
  double mass = 0;
  for (const auto& [token, logprob] : told["logprobs"]["top_logprobs"][0].items()) {
    mass += std::exp(logprob.get<double>());
  }
  EXPECT_GT(mass, 0.5);
  EXPECT_LE(mass, 1.0 + 1e-6);
}

TEST_F(HttpLogprobs, none_of_the_likeliest_are_told_at_0) {
  const json told = choice({{"logprobs", 0}});
  EXPECT_EQ(told["logprobs"]["token_logprobs"].size(), 6U);
  for (const json& likely : told["logprobs"]["top_logprobs"]) EXPECT_EQ(likely, nullptr);
}

TEST_F(HttpLogprobs, a_token_that_is_not_among_the_likeliest_is_told_beside_them) {
  const json told = choice({{"logprobs", 1}, {"temperature", 2}, {"max_tokens", 30}, {"seed", 1}});
  bool beside = false;
  for (std::size_t i = 0; i < told["logprobs"]["tokens"].size(); ++i) {
    const json& likely = told["logprobs"]["top_logprobs"][i];
    const std::string token = told["logprobs"]["tokens"][i];
    EXPECT_TRUE(likely.contains(token));
    beside = beside || likely.size() == 2;
  }
  EXPECT_TRUE(beside);
}

TEST_F(HttpLogprobs, an_echoed_prompt_comes_first) {
  const json plain = choice(json::object());
  const json echoed = choice({{"echo", true}});
  EXPECT_EQ(echoed["text"], "Hello" + plain["text"].get<std::string>());
  EXPECT_EQ(echoed["logprobs"], nullptr);
  EXPECT_EQ(choice({{"echo", true}, {"prompt", json::array({73, 106})}})["text"]
                .get<std::string>()
                .substr(0, 2),
            "Hi");
}

TEST_F(HttpLogprobs, of_a_prompt_are_those_of_its_tokens_as_an_output) {
  const json generated = choice({{"logprobs", 2}});
  const std::string whole = "Hello" + generated["text"].get<std::string>();
  const json scored =
      choice({{"prompt", whole}, {"echo", true}, {"logprobs", 2}, {"max_tokens", 0}});
  EXPECT_EQ(scored["text"], whole);
  EXPECT_EQ(scored["finish_reason"], "length");
  const json& logprobs = scored["logprobs"];
  ASSERT_EQ(logprobs["tokens"].size(), 11U);
  EXPECT_EQ(logprobs["token_logprobs"][0], nullptr);
  EXPECT_EQ(logprobs["top_logprobs"][0], nullptr);
  for (std::size_t i = 0; i < 6; ++i) {
    for (const char* list : {"tokens", "token_logprobs", "top_logprobs"}) {
      EXPECT_EQ(logprobs[list][5 + i], generated["logprobs"][list][i]) << list << i;
    }
  }
}

TEST_F(HttpLogprobs, of_a_prompt_that_is_cached_are_told_all_the_same) {
  const json patch{{"prompt", std::string(200, 'a')}, {"echo", true}, {"logprobs", 1}};
  choice({{"prompt", std::string(200, 'a')}});
  const json first = choice(patch);
  EXPECT_EQ(first["logprobs"]["tokens"].size(), 206U);
  EXPECT_EQ(choice(patch), first);
}

TEST_F(HttpLogprobs, a_prompt_alone_has_no_completion_tokens) {
  json body = completion("Hello", 0);
  body["echo"] = true;
  const json answer = client_.post("/v1/completions", body).json();
  EXPECT_EQ(answer["choices"][0]["text"], "Hello");
  EXPECT_EQ(answer["usage"]["completion_tokens"], 0);
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 5);
}

TEST_F(HttpLogprobs, flip_risk_is_how_near_another_token_was) {
  const json told = choice({{"forge", {{"flip_risk", true}}}, {"logprobs", 2}});
  ASSERT_EQ(told["forge"]["flip_risk"].size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    std::vector<double> two;
    for (const auto& [token, logprob] : told["logprobs"]["top_logprobs"][i].items()) {
      two.push_back(logprob);
    }
    ASSERT_EQ(two.size(), 2U);
    EXPECT_NEAR(told["forge"]["flip_risk"][i].get<double>(), std::abs(two[0] - two[1]), 1e-5);
  }
  EXPECT_EQ(choice({{"forge", {{"flip_risk", true}}}})["logprobs"], nullptr);
}

TEST_F(HttpLogprobs, a_stream_tells_the_same_as_a_whole_answer) {
  for (const int max_tokens : {0, 8}) {
    json body = completion("H\u20acllo", max_tokens);
    body["logprobs"] = 2;
    body["echo"] = true;
    body["temperature"] = 1;
    body["forge"] = {{"flip_risk", true}};
    const json whole = client_.post("/v1/completions", body).json()["choices"][0];
    body["stream"] = true;
    client_.send(HttpClient::text("/v1/completions", body));
    client_.read_header();
    json together = {{"text", ""}};
    for (const std::string& event : client_.read_events()) {
      if (event == "[DONE]") continue;
      const json part = json::parse(event)["choices"][0];
      together["text"] = together["text"].get<std::string>() + part["text"].get<std::string>();
      for (const char* list : {"tokens", "token_logprobs", "top_logprobs", "text_offset"}) {
        for (const json& each : part["logprobs"][list]) together["logprobs"][list].push_back(each);
      }
      if (!part.contains("forge")) continue;
      for (const json& each : part["forge"]["flip_risk"]) {
        together["forge"]["flip_risk"].push_back(each);
      }
    }
    for (const auto& [name, value] : together.items()) EXPECT_EQ(value, whole[name]) << name;
  }
}

TEST_F(HttpLogprobs, of_a_prompt_need_all_of_it_to_run) {
  json body = completion("Hello", 2);
  body["echo"] = true;
  body["logprobs"] = 1;
  body["session"] = 1;
  const auto answer = client_.post("/v1/completions", body);
  EXPECT_EQ(answer.status, 400U);
  EXPECT_EQ(answer.json()["error"]["param"], "logprobs");
}

}  // namespace
}  // namespace forge::test
