// `tools`, `tool_choice` and `parallel_tool_calls`: what reaches the template and the grammar, and
// what is refused.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "executor/byte_grammars.h"
#include "forge/chat/chat_format.h"
#include "forge/serve/openai_api.h"
#include "forge/text/byte_tokenizer.h"

namespace forge::serve {
namespace {

using nlohmann::json;

ModelCard card_with_template(const std::string& text) {
  chat::ChatFormat format{.chat_template = chat::ChatTemplate::parse(text).value(),
                          .of_model = true,
                          .answers = chat::answer_form_of(text)};
  return {.id = "m",
          .vocabulary_size = 320,
          .context_tokens = 2000,
          .created = 1,
          .chat = std::make_shared<const chat::ChatFormat>(std::move(format)),
          .grammars = forge::testing::byte_grammars()};
}

const ModelCard& hermes() {
  static const ModelCard kHermes =
      card_with_template("{{ messages[0].content }}{{ tools }}<tool_call>");
  return kHermes;
}

/// The body as a text, because the order of members matters.
std::string body(const std::string& fields) {
  return R"({"model": "m", "messages": [{"role": "user", "content": "Hi"}], )" + fields + "}";
}

constexpr const char* kTools =
    R"("tools": [
      {"type": "function", "function": {"name": "g", "description": "d",
        "parameters": {"type": "object", "properties": {"z": {}, "a": {}}}}},
      {"type": "function", "function": {"name": "f-1", "strict": true}}])";

std::string with_tools(const std::string& fields) { return body(kTools + (", " + fields)); }

UntokenizedRequest parsed(const std::string& text, const ModelCard& model = hermes()) {
  auto request = parse_request(RequestKind::chat, text, model);
  EXPECT_TRUE(request.has_value()) << request.error().message;
  return request ? *std::move(request) : UntokenizedRequest();
}

std::string refusal_of(const std::string& text, const ModelCard& model = hermes()) {
  const auto request = parse_request(RequestKind::chat, text, model);
  return request ? "accepted" : request.error().message;
}

std::string prompt(const UntokenizedRequest& request, const ModelCard& model = hermes()) {
  const text::ByteTokenizer tokenizer;
  return tokenizer.decode(tokenize(request, model, tokenizer, {}).value().prompts.at(0));
}

TEST(ToolFields, reach_the_template_as_they_were_written) {
  EXPECT_EQ(prompt(parsed(with_tools("\"n\": 1"))),
            "Hi[{'type': 'function', 'function': {'name': 'g', 'description': 'd', 'parameters': "
            "{'type': 'object', 'properties': {'z': {}, 'a': {}}}}}, {'type': 'function', "
            "'function': {'name': 'f-1', 'strict': True}}]<tool_call>");
  EXPECT_EQ(prompt(parsed(body("\"extra\": {" + std::string(kTools) + "}"))),
            prompt(parsed(with_tools("\"n\": 1"))));
  EXPECT_EQ(prompt(parsed(body("\"tools\": []"))), "HiNone<tool_call>");
  EXPECT_EQ(prompt(parsed(with_tools(R"("tool_choice": "none")"))), "HiNone<tool_call>");
}

TEST(ToolFields, say_what_an_answer_may_have) {
  const auto tools = [](const std::string& fields) {
    return parsed(with_tools(fields)).answer.value_or(chat::AnswerRules()).tools;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(tools("\"n\": 1"), (Names{"g", "f-1"}));
  EXPECT_EQ(tools(R"("tool_choice": "auto")"), (Names{"g", "f-1"}));
  EXPECT_EQ(tools(R"("tool_choice": "none")"), Names{});
  EXPECT_EQ(tools(R"("tool_choice": {"type": "function", "function": {"name": "g"}})"), Names{"g"});
  EXPECT_EQ(tools(R"("tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto",
                     "tools": [{"type": "function", "function": {"name": "f-1"}}]}})"),
            Names{"f-1"});
  EXPECT_FALSE(parsed(body("\"n\": 1")).answer.has_value());
  EXPECT_EQ(parsed(with_tools("\"parallel_tool_calls\": false")).answer->calls_max, 1U);
  const ModelCard reasons = card_with_template("{{ messages[0].content }}</think><think>");
  EXPECT_TRUE(parsed(body("\"n\": 1"), reasons).answer->form.reasons);
}

TEST(ToolFields, parameters_are_those_that_are_named_unless_the_schema_says_more) {
  const auto schema = [](const std::string& parameters) {
    const std::string tool = R"({"type": "function", "function": {"name": "f", "parameters": )";
    const auto request = parsed(body("\"tools\": [" + tool + parameters + "}}]"));
    return request.sampling.grammar.value_or(OutputGrammar({{}, {}})).forms[0].text;
  };
  EXPECT_EQ(schema(R"({"properties": {}})"),
            R"({"properties":{},"type":"object","additionalProperties":false})");
  for (const std::string open :
       {R"({"type":"object"})", R"({"type":"object","properties":{},"additionalProperties":true})",
        R"({"type":"object","properties":{},"patternProperties":{"^x":{}}})",
        R"({"type":"object","properties":{},"required":["a"]})",
        R"({"type":"object","properties":{},"allOf":[{"required":["a"]}]})"}) {
    EXPECT_EQ(schema(open), open);
  }
}

TEST(ToolFields, bind_the_answer_or_what_follows_the_mark) {
  const auto grammar = [](const std::string& fields, const ModelCard& model = hermes()) {
    return parsed(with_tools(fields), model).sampling.grammar.value_or(OutputGrammar());
  };
  const OutputGrammar free = grammar("\"n\": 1");
  EXPECT_EQ(free.after, "<tool_call>");
  ASSERT_EQ(free.forms.size(), 2U);
  EXPECT_EQ(
      free.forms[1],
      (OutputForm{GrammarKind::json_schema, R"({"type":"object","additionalProperties":false})",
                  "\n{\"name\": \"f-1\", \"arguments\": ", "}\n</tool_call>"}));
  EXPECT_EQ(free.forms[0].text,
            R"({"type":"object","properties":{"z":{},"a":{}},"additionalProperties":false})");

  const std::string forced = R"("tool_choice": {"type": "function", "function": {"name": "g"}})";
  const OutputGrammar named = grammar(forced);
  EXPECT_EQ(named.after, "");
  ASSERT_EQ(named.forms.size(), 1U);
  EXPECT_EQ(named.forms[0].prefix, "<tool_call>\n{\"name\": \"g\", \"arguments\": ");
  EXPECT_FALSE(named.row.has_value());
  const OutputGrammar required = grammar(R"("tool_choice": "required")");
  EXPECT_EQ(required.forms.size(), 2U);
  EXPECT_EQ(required.row, (OutputRow{"", "\n", ""}));
  EXPECT_FALSE(
      grammar(R"("tool_choice": "required", "parallel_tool_calls": false)").row.has_value());
  EXPECT_EQ(grammar(R"("tool_choice": "none")"), OutputGrammar());

  const ModelCard llama = card_with_template("{{ messages[0].content }}{{ tools }} \"parameters\"");
  EXPECT_EQ(grammar(forced, llama).forms[0].prefix, "{\"name\": \"g\", \"parameters\": ");
  EXPECT_EQ(grammar("\"n\": 1", llama).after, "<|python_tag|>");
}

TEST(ToolFields, bind_a_forced_call_behind_the_reasoning_that_the_prompt_has_opened) {
  const auto model = card_with_template("{{ tools }}</think>{{ messages[0].content }}<think>\n");
  const auto request = tokenize(parsed(with_tools(R"("tool_choice": "required")"), model), model,
                                text::ByteTokenizer(), {})
                           .value();
  EXPECT_TRUE(request.answer->in_reasoning);
  EXPECT_EQ(request.sampling.grammar->after, "</think>");
}

TEST(ToolFields, that_are_none_are_refused_by_name) {
  const auto tool = [](const std::string& function) {
    return refusal_of(body(R"("tools": [{"type": "function", "function": )" + function + "}]"));
  };
  EXPECT_EQ(refusal_of(body("\"tools\": 1")), "tools is 1; accepted is a list");
  EXPECT_EQ(refusal_of(body(R"("tools": [{"type": "custom"}])")),
            "tools[0].type is \"custom\"; accepted is \"function\"");
  EXPECT_EQ(refusal_of(body(R"("tools": [{"type": "function"}])")),
            "tools[0].function is missing; accepted is an object");
  EXPECT_EQ(tool(R"({"name": "a b"})"),
            "tools[0].function.name is \"a b\"; accepted is a text of 1 .. 64 letters, digits, '_' "
            "and '-'");
  EXPECT_EQ(tool(R"({"name": "a", "parameters": {"type": "array"}})"),
            "tools[0].function.parameters.type is \"array\"; accepted is \"object\"");
  EXPECT_EQ(tool(R"({"name": "a", "strict": 1})"),
            "tools[0].function.strict is 1; accepted is true or false");
  EXPECT_EQ(tool(R"({"name": "a", "mood": 1})"), "unknown field 'tools[0].function.mood'");
  EXPECT_EQ(refusal_of(body(R"("tools": [{"type": "function", "function": {"name": "a"}},
                                      {"type": "function", "function": {"name": "a"}}])")),
            "tools[1].function.name is 'a', as that of a tool before it; accepted is each once");
  std::string many;
  for (int i = 0; i < 129; ++i) many += i == 0 ? "{}" : ", {}";
  EXPECT_EQ(refusal_of(body("\"tools\": [" + many + "]")),
            "tools has 129 tools; accepted are up to 128");
}

TEST(ToolFields, refuse_a_choice_of_what_is_not_there) {
  EXPECT_EQ(refusal_of(with_tools(R"("tool_choice": "any")")),
            "tool_choice is \"any\"; accepted is \"none\", \"auto\", \"required\", or an object "
            "that names a tool");
  EXPECT_EQ(
      refusal_of(with_tools(R"("tool_choice": {"type": "function", "function": {"name": "h"}})")),
      "tool_choice.function.name is 'h', which is the name of no tool of the request");
  EXPECT_EQ(refusal_of(with_tools(R"("tool_choice": {"type": "tool"})")),
            "tool_choice.type is \"tool\"; accepted is \"function\", \"allowed_tools\"");
  EXPECT_EQ(refusal_of(body(R"("tool_choice": "required")")),
            "tool_choice is \"required\"; accepted is it only together with tools");
  EXPECT_EQ(refusal_of(body(R"("tool_choice": {"type": "function", "function": {"name": "h"}})")),
            "tool_choice.function.name is 'h', which is the name of no tool of the request");
  EXPECT_EQ(refusal_of(body(R"("tool_choice": "auto", "parallel_tool_calls": false)")), "accepted");
}

TEST(ToolFields, need_a_template_that_prints_them) {
  const ModelCard silent = card_with_template("{{ messages[0].content }}");
  EXPECT_EQ(refusal_of(with_tools("\"n\": 1"), silent),
            "tools are not in the chat template of the model, which prints none; accepted is "
            "\"tool_choice\": \"none\"");
  EXPECT_EQ(refusal_of(with_tools(R"("tool_choice": "none")"), silent), "accepted");
}

}  // namespace
}  // namespace forge::serve
