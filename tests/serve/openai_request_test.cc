// The readers of openai_api.h: which bodies are taken, and what is said of those that are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "forge/serve/openai_api.h"
#include "forge/text/byte_tokenizer.h"

namespace forge::serve {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const ModelCard kModel{.id = "m", .vocabulary_size = 320, .context_tokens = 100, .created = 1};

/// A valid body with `patch` merged in (as RFC 7386 has it, but null stays null).
json body_with(const json& patch) {
  json body = {{"model", "m"}, {"prompt", "hi"}};
  for (const auto& [name, value] : patch.items()) body[name] = value;
  return body;
}

CompletionRequest tokenized(const UntokenizedRequest& request) {
  return tokenize(request, kModel, text::ByteTokenizer(), {}).value();
}

CompletionRequest parse(const json& patch) {
  const auto request = parse_request(RequestKind::completions, body_with(patch).dump(), kModel);
  if (!request) throw std::runtime_error(request.error().message);
  return tokenized(*request);
}

ApiError refusal(const std::string& body) {
  const auto request = parse_request(RequestKind::completions, body, kModel);
  if (request) throw std::runtime_error("taken: " + body);
  return request.error();
}

std::vector<std::vector<TokenId>> tokens(std::initializer_list<std::string_view> prompts) {
  std::vector<std::vector<TokenId>> out;
  for (const auto prompt : prompts) out.push_back(text::ByteTokenizer::tokens_of(prompt));
  return out;
}

TEST(OpenAiRequest, defaults_are_those_of_openai_and_seed_zero) {
  CompletionRequest expected;
  expected.prompts = tokens({"hi"});
  expected.max_tokens = 16;
  expected.sampling = {.temperature = 1.0F, .seed = 0};
  EXPECT_EQ(parse({}), expected);
}

TEST(OpenAiRequest, null_stands_for_the_default) {
  json nulls;
  for (const char* name : {"max_tokens",
                           "temperature",
                           "seed",
                           "stop",
                           "stream",
                           "stream_options",
                           "user",
                           "priority",
                           "prefix_cache",
                           "session",
                           "timeout_s",
                           "deadline_steps",
                           "ignore_eos",
                           "add_special_tokens",
                           "parse_special",
                           "n",
                           "best_of",
                           "top_p",
                           "echo",
                           "logprobs",
                           "suffix",
                           "logit_bias",
                           "top_k",
                           "min_p",
                           "repetition_penalty",
                           "frequency_penalty",
                           "presence_penalty"}) {
    nulls[name] = nullptr;
  }
  EXPECT_EQ(parse(nulls), parse({}));
}

TEST(OpenAiRequest, every_honoured_field_is_read) {
  const CompletionRequest request = parse({{"max_tokens", 3},
                                           {"temperature", 0.5},
                                           {"seed", 7},
                                           {"stop", {"a", "bc"}},
                                           {"stream", true},
                                           {"stream_options", {{"include_usage", true}}},
                                           {"user", "someone"}});
  EXPECT_EQ(request.max_tokens, 3U);
  EXPECT_EQ(request.sampling, (SamplingParams{.temperature = 0.5F, .seed = 7}));
  EXPECT_EQ(request.stop, (std::vector<std::string>{"a", "bc"}));
  EXPECT_TRUE(request.stream);
  EXPECT_TRUE(request.include_usage);
}

TEST(OpenAiRequest, forges_own_fields_are_read) {
  const CompletionRequest request = parse({{"priority", "high"},
                                           {"prefix_cache", "auto"},
                                           {"session", 7},
                                           {"timeout_s", 1.5},
                                           {"deadline_steps", 100},
                                           {"ignore_eos", true}});
  EXPECT_EQ(request.priority, Priority::high);
  EXPECT_EQ(request.prefix_cache, PrefixCacheUse::automatic);
  EXPECT_EQ(request.session, SessionId(7));
  EXPECT_EQ(request.time_limit, std::chrono::milliseconds(1500));
  EXPECT_EQ(request.deadline_steps, 100U);
  EXPECT_TRUE(request.ignore_eos);
  EXPECT_EQ(parse({{"priority", "low"}}).priority, Priority::low);
  EXPECT_EQ(parse({}).priority, std::nullopt) << "it is for the client's limits to say";
  EXPECT_EQ(parse({{"prefix_cache", "disable"}}).prefix_cache, PrefixCacheUse::disable);
  EXPECT_EQ(parse({{"session", INT64_MAX}}).session, SessionId(kSessionIdMax));
  EXPECT_EQ(parse({{"session", 0}}).session, SessionId(0));
  EXPECT_EQ(parse({{"timeout_s", 0.001}}).time_limit, std::chrono::milliseconds(1));
}

TEST(OpenAiRequest, a_session_has_one_prompt_and_uses_the_prefix_cache) {
  EXPECT_EQ(parse({{"session", 7}, {"prompt", {"one"}}}).session, SessionId(7));
  const ApiError several = refusal(body_with({{"session", 7}, {"prompt", {"one", "two"}}}).dump());
  EXPECT_EQ(several.message, "session is accepted with one prompt; 'prompt' has 2");
  EXPECT_EQ(several.param, "session");
  const ApiError disabled =
      refusal(body_with({{"session", 7}, {"prefix_cache", "disable"}}).dump());
  EXPECT_EQ(disabled.message, "session needs the prefix cache, which 'prefix_cache' disables");
}

TEST(OpenAiRequest, neutral_values_of_unsupported_fields_change_nothing) {
  EXPECT_EQ(parse({{"n", 1},
                   {"best_of", 1},
                   {"echo", false},
                   {"logprobs", nullptr},
                   {"suffix", nullptr},
                   {"logit_bias", json::object()},
                   {"frequency_penalty", 0.0},
                   {"presence_penalty", 0}}),
            parse({}));
}

TEST(OpenAiRequest, a_prompt_is_text_or_token_ids_or_several_of_them) {
  EXPECT_EQ(parse({{"prompt", "hi"}}).prompts, tokens({"hi"}));
  EXPECT_EQ(parse({{"prompt", {"hi"}}}).prompts, tokens({"hi"}));
  EXPECT_EQ(parse({{"prompt", {"hi", "ho"}}}).prompts, tokens({"hi", "ho"}));
  EXPECT_EQ(parse({{"prompt", {105, 106}}}).prompts, tokens({"hi"}));
  EXPECT_EQ(parse({{"prompt", json::array({json::array({105, 106}), "ho"})}}).prompts,
            tokens({"hi", "ho"}));
  EXPECT_EQ(parse({{"prompt", std::string("\0", 1)}}).prompts,
            (std::vector<std::vector<TokenId>>{{TokenId(1)}}));
}

TEST(OpenAiRequest, a_stop_string_may_stand_alone) {
  EXPECT_EQ(parse({{"stop", "x"}}).stop, (std::vector<std::string>{"x"}));
  EXPECT_EQ(parse({{"stop", json::array()}}).stop, (std::vector<std::string>{}));
}

TEST(OpenAiRequest, seeds_are_64_bits_wide) {
  EXPECT_EQ(parse({{"seed", -1}}).sampling.seed, UINT64_MAX);
  EXPECT_EQ(parse({{"seed", INT64_MAX}}).sampling.seed, std::uint64_t{INT64_MAX});
  EXPECT_EQ(parse({{"seed", INT64_MIN}}).sampling.seed, std::uint64_t{1} << 63);
}

TEST(OpenAiRequest, an_unknown_model_is_not_found) {
  const ApiError error = refusal(body_with({{"model", "gpt-4"}}).dump());
  EXPECT_EQ(error.status, 404U);
  EXPECT_EQ(error.code, "model_not_found");
  EXPECT_EQ(error.param, "model");
  EXPECT_EQ(error.message, "the model 'gpt-4' does not exist; this server has 'm'");
}

struct BadField {
  const char* name;
  const char* value;  // JSON
  const char* message;
};
void PrintTo(const BadField& field, std::ostream* out) { *out << field.name << field.value; }

class BadFields : public ::testing::TestWithParam<BadField> {};

TEST_P(BadFields, are_refused_by_name_with_what_was_found_and_what_is_accepted) {
  const auto& [name, value, message] = GetParam();
  const ApiError error = refusal(body_with({{name, json::parse(value)}}).dump());
  EXPECT_EQ(error.status, 400U);
  EXPECT_EQ(error.param, name);
  EXPECT_EQ(error.type, "invalid_request_error");
  EXPECT_THAT(error.message, HasSubstr(message));
}

INSTANTIATE_TEST_SUITE_P(
    OpenAiRequest, BadFields,
    ::testing::Values(
        BadField{"model", "3", "model is 3; accepted is a text"},
        BadField{"model", "null", "model is missing; accepted is the id of the model, 'm'"},
        BadField{"prompt", "null", "prompt is missing; accepted is a text, a list of token ids"},
        BadField{"prompt", "7",
                 "prompt is 7; accepted is a text, a list of token ids, or a list of"},
        BadField{"prompt", "{}", "prompt is an object; accepted is"},
        BadField{"prompt", "[]", "prompt has 0 prompts; accepted are 1 .. 64"},
        BadField{"prompt", "[\"a\", 5]", "prompt[1] is 5; accepted is a text"},
        BadField{"prompt", "[[]]", "prompt[0] is a list of 0; accepted is a text"},
        BadField{"prompt", "[1, \"a\"]",
                 "prompt has the token id \"a\"; accepted is an integer, 0 .. 319"},
        BadField{"prompt", "[320]",
                 "prompt has the token id 320; accepted is an integer, 0 .. 319"},
        BadField{"prompt", "[-1]", "has the token id -1; accepted is"},
        BadField{"prompt", "[1.5]", "has the token id 1.5; accepted is"},
        BadField{"max_tokens", "0", "max_tokens is 0; accepted is an integer, 1 .. 2147483647"},
        BadField{"max_tokens", "-5", " is -5; accepted is"},
        BadField{"max_tokens", "1.0", " is 1.0; accepted is"},
        BadField{"max_tokens", "\"16\"", " is \"16\"; accepted is"},
        BadField{"max_tokens", "true", " is true; accepted is"},
        BadField{"max_tokens", "18446744073709551615", " is 18446744073709551615; accepted is"},
        BadField{"max_tokens", "99999999999999999999", " is 1e+20; accepted is"},
        BadField{"temperature", "-0.1", "temperature is -0.1; accepted is a number, 0 .. 2"},
        BadField{"temperature", "2.1", " is 2.1; accepted is"},
        BadField{"temperature", "1e-7",
                 "temperature is 1e-07; accepted is 0 (greedy), or a number, 1e-06 .. 2"},
        BadField{"temperature", "\"hot\"", " is \"hot\"; accepted is"},
        BadField{
            "seed", "1.5",
            "seed is 1.5; accepted is an integer, -9223372036854775808 .. 9223372036854775807"},
        BadField{"seed", "9223372036854775808", " is 9223372036854775808; accepted is"},
        BadField{
            "stop", "\"\"",
            "stop is \"\"; accepted is a text that is not empty, or a list of up to 16 of them"},
        BadField{"stop", "[\"a\", 1]", "stop has 1; accepted is"},
        BadField{"stop",
                 "[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\","
                 "\"\"]",
                 "stop has 17 texts; accepted are up to 16"},
        BadField{"stream", "1", "stream is 1; accepted is true or false"},
        BadField{"stream_options", "[]", "stream_options is a list of 0; accepted is an object"},
        BadField{"stream_options", "{}", "accepted only together with \"stream\": true"},
        BadField{"user", "[1, 2, 3]", "user is a list of 3; accepted is a text"}));

INSTANTIATE_TEST_SUITE_P(
    ForgeFields, BadFields,
    ::testing::Values(
        BadField{"priority", "\"urgent\"",
                 "priority is \"urgent\"; accepted is \"low\", \"normal\", \"high\""},
        BadField{"priority", "2", " is 2; accepted is"},
        BadField{"cache_salt", "\"\"", "cache_salt has 0 bytes; accepted are 1 .. 1024"},
        BadField{"prefix_cache", "true", "prefix_cache is true; accepted is \"auto\", \"disable\""},
        BadField{"session", "-1",
                 "session is -1; accepted is an integer, 0 .. 9223372036854775807"},
        BadField{"session", "9223372036854775808", " is 9223372036854775808; accepted is"},
        BadField{"session", "\"a\"", " is \"a\"; accepted is"},
        BadField{"timeout_s", "0", "timeout_s is 0; accepted is a number, 0.001 .. 86400"},
        BadField{"timeout_s", "-1", " is -1; accepted is"},
        BadField{"timeout_s", "100000", " is 100000; accepted is"},
        BadField{"timeout_s", "\"1\"", " is \"1\"; accepted is"},
        BadField{"deadline_steps", "-1", "deadline_steps is -1; accepted is an integer, 0 .. "},
        BadField{"deadline_steps", "1.5", " is 1.5; accepted is"},
        BadField{"ignore_eos", "1", "ignore_eos is 1; accepted is true or false"}));

INSTANTIATE_TEST_SUITE_P(
    Unsupported, BadFields,
    ::testing::Values(BadField{"best_of", "65", "best_of is 65; accepted is an integer, 1 .. 64"},
                      BadField{"logprobs", "21", "logprobs is 21; accepted is an integer, 0 .. 20"},
                      BadField{"suffix", "\"x\"", "suffix is \"x\"; accepted is only null"},
                      BadField{"max_completion_tokens", "5",
                               "unknown field 'max_completion_tokens'"},
                      BadField{"messages", "[]", "unknown field 'messages'"}));

TEST(OpenAiRequest, an_unknown_field_is_named_before_other_errors) {
  const ApiError error = refusal(R"({"model": "m", "promt": "hi"})");
  EXPECT_EQ(error.message, "unknown field 'promt'");
  EXPECT_EQ(error.code, "unknown_parameter");
}

TEST(OpenAiRequest, fields_of_stream_options_are_checked_too) {
  const auto with = [](const char* options) {
    return refusal(body_with({{"stream", true}, {"stream_options", json::parse(options)}}).dump());
  };
  EXPECT_EQ(with(R"({"include_usage": 1})").param, "stream_options.include_usage");
  EXPECT_EQ(with(R"({"include_obfuscation": true})").code, "unsupported_parameter");
  EXPECT_EQ(with(R"({"other": 1})").message, "unknown field 'stream_options.other'");
}

TEST(OpenAiRequest, what_is_not_json_is_refused_with_its_place) {
  EXPECT_THAT(refusal("").message, HasSubstr("the body is empty"));
  EXPECT_THAT(refusal("{\"model\": ").message,
              HasSubstr("the body: at byte 10: is not JSON in or right after '{\"model\": '"));
  EXPECT_THAT(refusal("{\"model\": NaN}").message, HasSubstr("is not JSON"));
  EXPECT_THAT(refusal("{\"temperature\": 1e999}").message,
              HasSubstr("the number 1e999 is out of range"));
  EXPECT_THAT(refusal("{\"model\": \"m\"} x").message, HasSubstr("is not JSON"));
  EXPECT_THAT(refusal("{\"prompt\": \"\xff\"}").message,
              HasSubstr("right after '{\"prompt\": \"\\xff'"));
  EXPECT_THAT(refusal("{\"prompt\": \"\\ud800\"}").message, HasSubstr("is not JSON"));
  EXPECT_THAT(refusal(std::string("{\"a\0b\": 1}", 10)).message, HasSubstr("is not JSON"));
}

TEST(OpenAiRequest, what_is_not_an_object_is_refused) {
  EXPECT_EQ(refusal("[]").message, "the body: is a list of 0; accepted is an object");
  EXPECT_EQ(refusal("\"x\"").message, "the body: is \"x\"; accepted is an object");
  EXPECT_EQ(refusal("null").message, "the body: is null; accepted is an object");
}

TEST(OpenAiRequest, a_field_given_twice_is_refused_at_any_depth) {
  EXPECT_EQ(refusal(R"({"model": "m", "seed": 1, "seed": 2})").message,
            "the body: has the key 'seed' twice");
  EXPECT_EQ(refusal(R"({"a": [{"b": 1}, {"b": 1, "c": {}, "b": 2}]})").message,
            "the body: has the key 'b' twice");
  EXPECT_EQ(refusal(R"({"a": {"b": 1}, "b": {"b": 1}})").message, "unknown field 'a'");
}

TEST(OpenAiRequest, deep_nesting_is_refused) {
  const std::string deep = "{\"prompt\": " + std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(refusal(deep + "}").message, "the body: nests objects and arrays deeper than 32");
}

TEST(OpenAiRequest, long_values_are_cut_in_errors) {
  EXPECT_LT(refusal(body_with({{"stream", std::string(1000, 'x')}}).dump()).message.size(), 200U);
}

TEST(GenerateRequest, takes_a_prompt_and_decodes_greedily) {
  CompletionRequest expected;
  expected.prompts = tokens({"hi"});
  expected.kind = RequestKind::generate;
  expected.max_tokens = 32;
  EXPECT_EQ(tokenized(parse_request(RequestKind::generate, R"({"prompt": "hi"})", kModel).value()),
            expected);
  expected.max_tokens = 5;
  EXPECT_EQ(
      tokenized(parse_request(RequestKind::generate, R"({"prompt": "hi", "max_tokens": 5})", kModel)
                    .value()),
      expected);
}

TEST(GenerateRequest, refuses_everything_else) {
  const auto message = [](std::string_view body) {
    return parse_request(RequestKind::generate, body, kModel).error().message;
  };
  EXPECT_EQ(message("{}"), "prompt is missing; accepted is a text");
  EXPECT_EQ(message(R"({"prompt": ["hi"]})"), "prompt is a list of 1; accepted is a text");
  EXPECT_EQ(message(R"({"prompt": "hi", "n": 1})"), "unknown field 'n'");
  EXPECT_THAT(message(R"({"prompt": "hi", "max_tokens": 0})"),
              HasSubstr("max_tokens is 0; accepted is"));
}

}  // namespace
}  // namespace forge::serve
