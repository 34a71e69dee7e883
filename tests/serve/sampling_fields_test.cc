// The fields of sampling, which all routes that generate have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "forge/serve/openai_api.h"

namespace forge::serve {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const ModelCard kSmallModel{.id = "m", .vocabulary_size = 320, .context_tokens = 100, .created = 1};

tl::expected<UntokenizedRequest, ApiError> completion(json fields) {
  fields["model"] = "m";
  fields["prompt"] = "hi";
  return parse_request(RequestKind::completions, fields.dump(), kSmallModel);
}
tl::expected<UntokenizedRequest, ApiError> generation(json fields) {
  fields["prompt"] = "hi";
  return parse_request(RequestKind::generate, fields.dump(), kSmallModel);
}

TEST(SamplingFields, are_read_by_each_route) {
  const SamplingParams expected{.temperature = 0.5F,
                                .seed = static_cast<std::uint64_t>(-7),
                                .logit_bias = {{TokenId(7), -1.5F}, {TokenId(300), 100.0F}},
                                .repetition_penalty = 1.25F,
                                .presence_penalty = -2.0F,
                                .frequency_penalty = 2.0F,
                                .top_k = 40,
                                .top_p = 0.75F,
                                .min_p = 0.125F};
  const json fields{{"temperature", 0.5},
                    {"seed", -7},
                    {"logit_bias", {{"300", 100}, {"7", -1.5}}},
                    {"repetition_penalty", 1.25},
                    {"presence_penalty", -2},
                    {"frequency_penalty", 2},
                    {"top_k", 40},
                    {"top_p", 0.75},
                    {"min_p", 0.125}};
  EXPECT_EQ(completion(fields)->sampling, expected);
  EXPECT_EQ(generation(fields)->sampling, expected);
}

TEST(SamplingFields, that_are_left_out_ask_for_nothing_but_a_temperature) {
  EXPECT_EQ(completion({})->sampling, SamplingParams{.temperature = 1});
  EXPECT_EQ(generation({})->sampling, SamplingParams{});
  const json neutral{{"top_k", -1},
                     {"top_p", 1},
                     {"min_p", 0},
                     {"repetition_penalty", 1},
                     {"presence_penalty", 0},
                     {"frequency_penalty", 0.0},
                     {"logit_bias", json::object()}};
  EXPECT_EQ(generation(neutral)->sampling, SamplingParams{});
}

struct BadSampling {
  const char* fields;  // JSON
  const char* message;
};

TEST(SamplingFields, that_are_not_accepted_are_refused_by_name) {
  const BadSampling cases[] = {
      {R"({"temperature": 2.5})", "temperature is 2.5; accepted is a number, 0 .. 2"},
      {R"({"top_p": 1.5})", "top_p is 1.5; accepted is a number, 0 .. 1"},
      {R"({"top_p": -0.1})", "top_p is -0.1; accepted is"},
      {R"({"top_p": "1"})", "top_p is \"1\"; accepted is"},
      {R"({"min_p": 2})", "min_p is 2; accepted is a number, 0 .. 1"},
      {R"({"top_k": -2})", "top_k is -2; accepted is an integer, -1 .. 1073741824"},
      {R"({"top_k": 1.5})", "top_k is 1.5; accepted is"},
      {R"({"repetition_penalty": 0})",
       "repetition_penalty is 0; accepted is a number, 0.0625 .. 16"},
      {R"({"presence_penalty": 2.5})", "presence_penalty is 2.5; accepted is a number, -2 .. 2"},
      {R"({"frequency_penalty": -3})", "frequency_penalty is -3; accepted is a number, -2 .. 2"},
      {R"({"logit_bias": [1]})", "logit_bias is a list of 1; accepted is an object"},
      {R"({"logit_bias": {"320": 1}})",
       "logit_bias has the token id '320'; accepted is an integer, 0 .. 319"},
      {R"({"logit_bias": {"-1": 1}})", "logit_bias has the token id '-1'"},
      {R"({"logit_bias": {"7x": 1}})", "logit_bias has the token id '7x'"},
      {R"({"logit_bias": {"": 1}})", "logit_bias has the token id ''"},
      {R"({"logit_bias": {"7": 1, "07": 2}})", "logit_bias has the token id 7 twice"},
      {R"({"logit_bias": {"7": 101}})", "logit_bias.7 is 101; accepted is a number, -100 .. 100"},
      {R"({"logit_bias": {"7": "1"}})", "logit_bias.7 is \"1\"; accepted is a number"},
  };
  for (const BadSampling& bad : cases) {
    for (const auto& request :
         {completion(json::parse(bad.fields)), generation(json::parse(bad.fields))}) {
      ASSERT_FALSE(request.has_value()) << bad.fields;
      EXPECT_EQ(request.error().status, 400U);
      EXPECT_THAT(request.error().message, HasSubstr(bad.message));
    }
  }
}

TEST(SamplingFields, a_bias_of_more_tokens_than_are_accepted_is_refused_by_their_number) {
  json biases;
  for (int token = 0; token < 1025; ++token) biases[std::to_string(token)] = 1;
  const ModelCard large{.id = "m", .vocabulary_size = 50000, .context_tokens = 100};
  const json body{{"prompt", "hi"}, {"logit_bias", biases}};
  EXPECT_EQ(parse_request(RequestKind::generate, body.dump(), large).error().message,
            "logit_bias has 1025 tokens; accepted are up to 1024");
}

}  // namespace
}  // namespace forge::serve
