// The readers of openai_api.h: which bodies are taken, and what is said of those that are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "forge/serve/openai_api.h"
#include "forge/text/byte_tokeniser.h"

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

CompletionRequest tokenised(const UntokenisedRequest& request) {
  return tokenise(request, kModel, text::ByteTokeniser()).value();
}

CompletionRequest parse(const json& patch) {
  const auto request = parse_completion_request(body_with(patch).dump(), kModel);
  if (!request) throw std::runtime_error(request.error().message);
  return tokenised(*request);
}

ApiError refusal(const std::string& body) {
  const auto request = parse_completion_request(body, kModel);
  if (request) throw std::runtime_error("taken: " + body);
  return request.error();
}

std::vector<std::vector<TokenId>> tokens(std::initializer_list<std::string_view> prompts) {
  std::vector<std::vector<TokenId>> out;
  for (const auto prompt : prompts) out.push_back(text::ByteTokeniser().encode(prompt));
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
                                           {"prefix_cache", "force"},
                                           {"session", 7},
                                           {"timeout_s", 1.5},
                                           {"deadline_steps", 100},
                                           {"ignore_eos", true}});
  EXPECT_EQ(request.priority, Priority::high);
  EXPECT_EQ(request.prefix_cache, PrefixCacheUse::force);
  EXPECT_EQ(request.session, SessionId(7));
  EXPECT_EQ(request.time_limit, std::chrono::milliseconds(1500));
  EXPECT_EQ(request.deadline_steps, 100U);
  EXPECT_TRUE(request.ignore_eos);
  EXPECT_EQ(parse({{"priority", "low"}}).priority, Priority::low);
  EXPECT_EQ(parse({{"prefix_cache", "disable"}}).prefix_cache, PrefixCacheUse::disable);
  EXPECT_EQ(parse({{"session", INT64_MAX}}).session, SessionId(kSessionIdMax));
  EXPECT_EQ(parse({{"session", 0}}).session, SessionId(0));
  EXPECT_EQ(parse({{"timeout_s", 0.001}}).time_limit, std::chrono::milliseconds(1));
}

TEST(OpenAiRequest, a_session_has_one_prompt_and_uses_the_prefix_cache) {
  EXPECT_EQ(parse({{"session", 7}, {"prompt", {"one"}}}).session, SessionId(7));
  const ApiError several = refusal(body_with({{"session", 7}, {"prompt", {"one", "two"}}}).dump());
  EXPECT_EQ(several.message, "'session' is accepted with one prompt: 'prompt' has 2");
  EXPECT_EQ(several.param, "session");
  const ApiError disabled =
      refusal(body_with({{"session", 7}, {"prefix_cache", "disable"}}).dump());
  EXPECT_EQ(disabled.message, "'session' needs the prefix cache, which 'prefix_cache' disables");
}

TEST(OpenAiRequest, neutral_values_of_unsupported_fields_change_nothing) {
  EXPECT_EQ(parse({{"n", 1},
                   {"best_of", 1},
                   {"top_p", 1.0},
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
  EXPECT_EQ(error.message, "the model \"gpt-4\" does not exist; this server has 'm'");
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
        BadField{"model", "3", "'model' must be a string, got the number 3"},
        BadField{"model", "null", "'model' is required: the id of the model, 'm'"},
        BadField{"prompt", "null", "'prompt' is required: a string, an array of token ids"},
        BadField{"prompt", "7", "'prompt' must be a string, an array of token ids, or an array of"},
        BadField{"prompt", "{}", "got an object"},
        BadField{"prompt", "[]", "'prompt' has 0 prompts: accepted are 1 to 64"},
        BadField{"prompt", "[\"a\", 5]", "'prompt[1]' must be a string"},
        BadField{"prompt", "[[]]", "'prompt[0]' must be a string"},
        BadField{"prompt", "[1, \"a\"]",
                 "token ids are integers from 0 to 319, got the string \"a\""},
        BadField{"prompt", "[320]", "token ids are integers from 0 to 319, got the number 320"},
        BadField{"prompt", "[-1]", "got the number -1"},
        BadField{"prompt", "[1.5]", "got the number 1.5"},
        BadField{"max_tokens", "0", "'max_tokens' must be an integer from 1 to 2147483647, got"},
        BadField{"max_tokens", "-5", "got the number -5"},
        BadField{"max_tokens", "1.0", "got the number 1.0"},
        BadField{"max_tokens", "\"16\"", "got the string \"16\""},
        BadField{"max_tokens", "true", "got the boolean true"},
        BadField{"max_tokens", "18446744073709551615", "got the number 18446744073709551615"},
        BadField{"max_tokens", "99999999999999999999", "got the number"},
        BadField{"temperature", "-0.1", "'temperature' must be a number from 0 to 2, got"},
        BadField{"temperature", "2.1", "got the number 2.1"},
        BadField{"temperature", "1e-7", "must be 0 (greedy) or a number from 0.000001 to 2"},
        BadField{"temperature", "\"hot\"", "got the string \"hot\""},
        BadField{"seed", "1.5", "'seed' must be an integer from -9223372036854775808 to"},
        BadField{"seed", "9223372036854775808", "got the number 9223372036854775808"},
        BadField{"stop", "\"\"", "'stop' must be a non-empty string or an array of up to 4"},
        BadField{"stop", "[\"a\", 1]", "got the number 1"},
        BadField{"stop", "[\"a\",\"b\",\"c\",\"d\",\"e\"]",
                 "'stop' has 5 strings: accepted are up to 4"},
        BadField{"stream", "1", "'stream' must be true or false, got the number 1"},
        BadField{"stream_options", "[]", "'stream_options' must be an object, got an array of 0"},
        BadField{"stream_options", "{}", "accepted only together with \"stream\": true"},
        BadField{"user", "[1, 2, 3]", "'user' must be a string, got an array of 3"}));

INSTANTIATE_TEST_SUITE_P(
    ForgeFields, BadFields,
    ::testing::Values(
        BadField{
            "priority", "\"urgent\"",
            "'priority' must be one of \"low\", \"normal\", \"high\", got the string \"urgent\""},
        BadField{"priority", "2", "got the number 2"},
        BadField{"prefix_cache", "true",
                 "'prefix_cache' must be one of \"auto\", \"force\", \"disable\", got the boolean"},
        BadField{"session", "-1", "'session' must be an integer from 0 to 9223372036854775807"},
        BadField{"session", "9223372036854775808", "got the number 9223372036854775808"},
        BadField{"session", "\"a\"", "got the string \"a\""},
        BadField{"timeout_s", "0", "'timeout_s' must be a number from 0.001 to 86400, got"},
        BadField{"timeout_s", "-1", "got the number -1"},
        BadField{"timeout_s", "100000", "got the number 100000"},
        BadField{"timeout_s", "\"1\"", "got the string \"1\""},
        BadField{"deadline_steps", "-1", "'deadline_steps' must be an integer from 0 to"},
        BadField{"deadline_steps", "1.5", "got the number 1.5"},
        BadField{"ignore_eos", "1", "'ignore_eos' must be true or false, got the number 1"}));

INSTANTIATE_TEST_SUITE_P(
    Unsupported, BadFields,
    ::testing::Values(
        BadField{"n", "2", "'n' is not supported: got the number 2, accepted are 1 and null"},
        BadField{"best_of", "3", "'best_of' is not supported"},
        BadField{"top_p", "0.9", "'top_p' is not supported: got the number 0.9"},
        BadField{"echo", "true", "'echo' is not supported: got the boolean true"},
        BadField{"logprobs", "0",
                 "'logprobs' is not supported: got the number 0, accepted are null"},
        BadField{"suffix", "\"x\"", "'suffix' is not supported"},
        BadField{"logit_bias", "{\"50\": 1}", "'logit_bias' is not supported: got an object"},
        BadField{"frequency_penalty", "0.5", "'frequency_penalty' is not supported"},
        BadField{"presence_penalty", "-0.5", "'presence_penalty' is not supported"},
        BadField{"max_completion_tokens", "5", "unknown field 'max_completion_tokens'"},
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
              HasSubstr("not valid JSON: parse error at line 1, column 11"));
  EXPECT_THAT(refusal("{\"model\": NaN}").message, HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal("{\"temperature\": 1e999}").message, HasSubstr("number overflow"));
  EXPECT_THAT(refusal("{\"model\": \"m\"} x").message, HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal("{\"prompt\": \"\xff\"}").message, HasSubstr("ill-formed UTF-8"));
  EXPECT_THAT(refusal("{\"prompt\": \"\\ud800\"}").message, HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal(std::string("{\"a\0b\": 1}", 10)).message, HasSubstr("not valid JSON"));
}

TEST(OpenAiRequest, what_is_not_an_object_is_refused) {
  EXPECT_EQ(refusal("[]").message, "the body must be a JSON object, got an array of 0");
  EXPECT_EQ(refusal("\"x\"").message, "the body must be a JSON object, got the string \"x\"");
  EXPECT_EQ(refusal("null").message, "the body must be a JSON object, got null");
}

TEST(OpenAiRequest, a_field_given_twice_is_refused_at_any_depth) {
  EXPECT_EQ(refusal(R"({"model": "m", "seed": 1, "seed": 2})").message, "'seed' is given twice");
  EXPECT_EQ(refusal(R"({"a": [{"b": 1}, {"b": 1, "c": {}, "b": 2}]})").message,
            "'b' is given twice");
  EXPECT_EQ(refusal(R"({"a": {"b": 1}, "b": {"b": 1}})").message, "unknown field 'a'");
}

TEST(OpenAiRequest, deep_nesting_is_refused) {
  const std::string deep = "{\"prompt\": " + std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(refusal(deep + "}").message, "the body is nested deeper than 32 levels");
}

TEST(OpenAiRequest, long_values_are_cut_in_errors) {
  EXPECT_LT(refusal(body_with({{"stream", std::string(1000, 'x')}}).dump()).message.size(), 200U);
}

TEST(GenerateRequest, takes_a_prompt_and_decodes_greedily) {
  CompletionRequest expected;
  expected.prompts = tokens({"hi"});
  expected.max_tokens = 32;
  EXPECT_EQ(tokenised(parse_generate_request(R"({"prompt": "hi"})", kModel).value()), expected);
  expected.max_tokens = 5;
  EXPECT_EQ(
      tokenised(parse_generate_request(R"({"prompt": "hi", "max_tokens": 5})", kModel).value()),
      expected);
}

TEST(GenerateRequest, refuses_everything_else) {
  const auto message = [](std::string_view body) {
    return parse_generate_request(body, kModel).error().message;
  };
  EXPECT_EQ(message("{}"), "'prompt' is required: a string");
  EXPECT_EQ(message(R"({"prompt": ["hi"]})"), "'prompt' must be a string, got an array of 1");
  EXPECT_EQ(message(R"({"prompt": "hi", "seed": 1})"), "unknown field 'seed'");
  EXPECT_THAT(message(R"({"prompt": "hi", "max_tokens": 0})"), HasSubstr("'max_tokens' must be"));
}

}  // namespace
}  // namespace forge::serve
