// Answers of a schema, an expression or a list, over HTTP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "executor/byte_grammars.h"
#include "forge/cpu/cpu_executor.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

const json& schema() {
  static const json kSchema = json::parse(R"({
    "type": "object", "required": ["name", "age", "tags"], "additionalProperties": false,
    "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 8},
                   "age": {"type": "integer", "minimum": 0, "maximum": 130},
                   "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3}}})");
  return kSchema;
}

/// By hand, so that what says that a text is valid is not what made it.
void expect_valid(const std::string& text) {
  SCOPED_TRACE(text);
  ASSERT_TRUE(json::accept(text));
  const json value = json::parse(text);
  ASSERT_TRUE(value.is_object());
  EXPECT_EQ(value.size(), 3U);
  EXPECT_TRUE(value.at("name").is_string());
  EXPECT_FALSE(value.at("name").get<std::string>().empty());
  ASSERT_TRUE(value.at("age").is_number());
  const double age = value["age"];
  EXPECT_EQ(age, std::floor(age));  // 7.0 is an integer
  EXPECT_GE(age, 0);
  EXPECT_LE(age, 130);
  ASSERT_TRUE(value.at("tags").is_array());
  EXPECT_LE(value["tags"].size(), 3U);
  for (const json& tag : value["tags"]) EXPECT_TRUE(tag == "a" || tag == "b");
}

json json_schema_format(const json& schema) {
  return {{"type", "json_schema"}, {"json_schema", {{"name", "person"}, {"schema", schema}}}};
}

class HttpStructuredOutput : public ::testing::Test {
 protected:
  /// `patch` on a body for `path`.
  static json body(const std::string& path, const json& patch) {
    json body = {{"max_tokens", 2000}, {"temperature", 1}};
    if (path != "/generate") body["model"] = "fake";
    if (path == "/v1/chat/completions") {
      body["messages"] = json::array({{{"role", "user"}, {"content", "Who?"}}});
    } else {
      body["prompt"] = "Who?";
    }
    for (const auto& [name, value] : patch.items()) body[name] = value;
    return body;
  }

  std::vector<std::string> texts(const json& patch, const std::string& path = "/v1/completions") {
    const auto answer = client_.post(path, body(path, patch));
    EXPECT_EQ(answer.status, 200U) << answer.body;
    const json whole = answer.json();
    if (path == "/generate") return {whole["text"]};
    std::vector<std::string> out;
    for (const json& choice : whole["choices"]) {
      EXPECT_EQ(choice["finish_reason"], "stop");
      out.push_back(choice.contains("message") ? choice["message"]["content"] : choice["text"]);
    }
    return out;
  }
  std::string text(const json& patch, const std::string& path = "/v1/completions") {
    return texts(patch, path).at(0);
  }

  json refusal(const json& patch, const std::string& path = "/v1/completions") {
    const auto answer = client_.post(path, body(path, patch));
    EXPECT_EQ(answer.status, 400U) << answer.body;
    return answer.json()["error"];
  }

  std::shared_ptr<grammar::OutputCompiler> grammars_ = testing::byte_grammars();
  executor::ExecutorOptions with_{.grammars = grammars_};
  cpu::CpuExecutor executor_{with_, cpu::seeded_cpu_model({}, with_)};
  RunningServer server_{executor_, {.grammars = grammars_}};
  HttpClient client_{server_.port()};
};

TEST_F(HttpStructuredOutput, of_a_schema_is_valid_and_the_same_when_streamed) {
  for (const char* const path : {"/v1/completions", "/v1/chat/completions"}) {
    for (int seed = 0; seed < 3; ++seed) {
      json patch = {{"response_format", json_schema_format(schema())}, {"seed", seed}};
      const std::string whole = text(patch, path);
      expect_valid(whole);
      patch["stream"] = true;
      client_.send(HttpClient::text(path, body(path, patch)));
      client_.read_header();
      std::string streamed;
      for (const std::string& event : client_.read_events()) {
        if (event == "[DONE]") continue;
        const json choice = json::parse(event)["choices"][0];
        streamed += choice.contains("delta") ? choice["delta"].value("content", "")
                                             : choice["text"].get<std::string>();
      }
      EXPECT_EQ(streamed, whole);
    }
  }
}

TEST_F(HttpStructuredOutput, says_the_same_by_every_name) {
  const std::string whole = text({{"response_format", json_schema_format(schema())}});
  for (const json& patch :
       {json{{"structured_outputs", {{"json", schema()}}}}, json{{"guided_json", schema().dump()}},
        json{{"json_schema", schema()}}, json{{"extra", {{"json_schema", schema()}}}}}) {
    EXPECT_EQ(text(patch), whole) << patch;
  }
  EXPECT_EQ(text({{"json_schema", schema()}}, "/generate"), whole);
  const std::string object = text({{"response_format", {{"type", "json_object"}}}, {"seed", 4}});
  EXPECT_TRUE(json::parse(object).is_object());
  EXPECT_EQ(text({{"structured_outputs", {{"json_object", true}}}, {"seed", 4}}), object);
}

TEST_F(HttpStructuredOutput, of_an_expression_or_a_list) {
  for (const json& patch :
       {json{{"regex", "[a-c]{5}-\\d+"}}, json{{"guided_regex", "[a-c]{5}-\\d+"}},
        json{{"structured_outputs", {{"regex", "[a-c]{5}-\\d+"}}}}}) {
    EXPECT_THAT(text(patch), MatchesRegex("[a-c]*-[0-9]*"));
  }
  for (const json& patch : {json{{"choice", {"yes", "no"}}}, json{{"guided_choice", {"yes", "no"}}},
                            json{{"structured_outputs", {{"choice", {"yes", "no"}}}}}}) {
    EXPECT_THAT(text(patch), ::testing::AnyOf("yes", "no"));
  }
  EXPECT_THAT(text({{"choice", {"yes", "no"}}}, "/generate"), ::testing::AnyOf("yes", "no"));
}

TEST_F(HttpStructuredOutput, goes_with_n_logprobs_echo_and_stop) {
  const json format = json_schema_format(schema());
  const auto several = texts({{"response_format", format}, {"n", 3}, {"logprobs", 2}});
  ASSERT_EQ(several.size(), 3U);
  for (const std::string& one : several) expect_valid(one);
  EXPECT_NE(several[0], several[1]);
  EXPECT_THAT(text({{"choice", {"yes"}}, {"echo", true}}), "Who?yes");
  EXPECT_EQ(text({{"choice", {"yes"}}, {"stop", "e"}}), "y");
}

TEST_F(HttpStructuredOutput, that_max_tokens_cuts_is_a_beginning) {
  const std::string whole = text({{"json_schema", schema()}});
  const auto answer =
      client_.post("/v1/completions", body("", {{"json_schema", schema()}, {"max_tokens", 7}}));
  EXPECT_EQ(answer.json()["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(answer.json()["choices"][0]["text"], whole.substr(0, 7));
}

TEST_F(HttpStructuredOutput, is_refused_by_field_pointer_and_keyword) {
  json bad = schema();
  bad["properties"]["tags"]["uniqueItems"] = true;
  json error = refusal({{"response_format", json_schema_format(bad)}});
  EXPECT_EQ(error["param"], "response_format");
  EXPECT_EQ(
      error["message"],
      "response_format.json_schema.schema at /properties/tags/uniqueItems: uniqueItems is not "
      "supported, but for at most one item");
  EXPECT_EQ(refusal({{"regex", "a(b"}})["param"], "regex");
  EXPECT_THAT(refusal({{"structured_outputs", {{"json", {{"minimum", "1"}}}}}})["message"],
              HasSubstr("structured_outputs.json at /minimum: "));
  EXPECT_THAT(refusal({{"json_schema", "{"}})["message"], HasSubstr("json_schema"));

  EXPECT_EQ(refusal({{"regex", "a"}, {"choice", {"b"}}})["message"],
            "choice is there, and so is regex; accepted is one of them");
  EXPECT_EQ(refusal({{"structured_outputs", {{"regex", "a"}, {"choice", {"b"}}}}})["message"],
            "structured_outputs is there, and so is structured_outputs.regex; accepted is one of "
            "them");
  EXPECT_EQ(refusal({{"regex", "a"}, {"ignore_eos", true}})["message"],
            "regex is accepted without ignore_eos, which would go on behind the end of the text");
  EXPECT_EQ(refusal({{"choice", {"a", ""}}})["message"],
            "choice has \"\"; accepted is a list of 1 to 1024 texts, none of them empty");
  EXPECT_THAT(refusal({{"response_format", {{"type", "xml"}}}})["message"],
              HasSubstr("response_format.type"));
  EXPECT_THAT(refusal({{"response_format", {{"type", "json_schema"}}}})["message"],
              HasSubstr("response_format.json_schema"));
  EXPECT_THAT(refusal({{"structured_outputs", {{"grammar", "root ::= x"}}}})["message"],
              HasSubstr("unknown field 'structured_outputs.grammar'"));
}

TEST_F(HttpStructuredOutput, nothing_is_bound_by_a_format_of_text) {
  const json patch = {{"max_tokens", 8}, {"temperature", 0}};
  const auto plain = client_.post("/v1/completions", body("", patch));
  json with = patch;
  with["response_format"] = {{"type", "text"}};
  const auto formatted = client_.post("/v1/completions", body("", with));
  EXPECT_EQ(formatted.json()["choices"], plain.json()["choices"]);
}

TEST(HttpStructuredOutputError, ends_a_text_that_no_token_leads_on) {
  const auto no_digits = std::make_shared<grammar::OutputCompiler>([] {
    grammar::VocabularyTokens vocabulary;
    for (std::uint32_t token = 0; token < 320; ++token) {
      const std::string_view bytes = text::ByteTokenizer().bytes_of(TokenId(token));
      vocabulary.tokens.push_back(bytes == "5" ? std::string_view() : bytes);
    }
    vocabulary.eos = {0};
    return vocabulary;
  });
  const executor::ExecutorOptions options{.grammars = no_digits};
  cpu::CpuExecutor executor(options, cpu::seeded_cpu_model({}, options));
  RunningServer server(executor, {.grammars = no_digits});
  HttpClient client(server.port());
  json body = completion("Hello", 20);
  body["regex"] = "ab5";
  const auto answer = client.post("/v1/completions", body);
  EXPECT_EQ(answer.status, 500U);
  EXPECT_EQ(answer.json()["error"]["message"],
            "at position 7 of prompt and output no token of the vocabulary leads on to a text of "
            "the grammar of the output");
  // Others go on.
  EXPECT_EQ(client.post("/v1/completions", completion("Hello", 3)).status, 200U);
}

TEST(HttpStructuredOutputError, says_that_there_are_no_grammars) {
  TestServer server;
  HttpClient client(server.port());
  json body = completion("Hello", 20);
  body["choice"] = {"a", "b"};
  const auto answer = client.post("/v1/completions", body);
  EXPECT_EQ(answer.status, 400U);
  EXPECT_EQ(answer.json()["error"]["message"],
            "choice is refused: model 'fake' runs without grammars");
}

}  // namespace
}  // namespace forge::test
