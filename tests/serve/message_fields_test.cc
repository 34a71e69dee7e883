// `messages` of chat requests: what reaches the template, and what is refused.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "forge/chat/chat_format.h"
#include "forge/serve/openai_api.h"
#include "forge/text/byte_tokenizer.h"

namespace forge::serve {
namespace {

using nlohmann::json;

ModelCard card_with(const std::string& text) {
  chat::ChatFormat format{.chat_template = chat::ChatTemplate::parse(text).value(),
                          .bos_token = "<s>",
                          .eos_token = "</s>",
                          .of_model = true};
  return {.id = "m",
          .vocabulary_size = 320,
          .context_tokens = 2000,
          .created = 1,
          .chat = std::make_shared<const chat::ChatFormat>(std::move(format))};
}

/// The text that the model is to continue, or the error.
std::string prompt_of(const json& patch, const ModelCard& model) {
  json body = {{"model", "m"}};
  for (const auto& [name, value] : patch.items()) body[name] = value;
  const auto parsed = parse_request(RequestKind::chat, body.dump(), model);
  if (!parsed) return parsed.error().message;
  const text::ByteTokenizer tokenizer;
  std::tm now{};
  now.tm_year = 126;
  const auto request = tokenize(*parsed, model, tokenizer, now);
  return request ? tokenizer.decode(request->prompts.at(0)) : request.error().message;
}

json user(const json& content) { return {{"role", "user"}, {"content", content}}; }

std::string shown(const json& messages) {
  return prompt_of({{"messages", messages}}, card_with("{{ messages }}"));
}

TEST(MessageFields, reach_the_template_in_its_form) {
  EXPECT_EQ(shown(json::array({user("Hi")})), "[{'role': 'user', 'content': 'Hi'}]");
  EXPECT_EQ(shown(json::array({{{"role", "developer"}, {"content", "a"}, {"name", "b"}}})),
            "[{'role': 'system', 'content': 'a', 'name': 'b'}]");
  const json parts = {{{"type", "text"}, {"text", "a"}}, {{"type", "text"}, {"text", "b"}}};
  EXPECT_EQ(shown(json::array({user(parts)})), "[{'role': 'user', 'content': 'a\\nb'}]");
}

TEST(MessageFields, have_arguments_of_calls_as_objects_in_their_order) {
  const json call = {{"id", "c1"},
                     {"type", "function"},
                     {"function", {{"name", "f"}, {"arguments", R"({"z": 1, "a": [true]})"}}}};
  const json asks = {{"role", "assistant"},
                     {"content", nullptr},
                     {"refusal", nullptr},
                     {"annotations", json::array()},
                     {"tool_calls", json::array({call})}};
  const json answer = {{"role", "tool"}, {"tool_call_id", "c1"}, {"content", "21"}};
  EXPECT_EQ(shown(json::array({asks, answer})),
            "[{'role': 'assistant', 'content': None, 'tool_calls': [{'id': 'c1', 'type': "
            "'function', 'function': {'name': 'f', 'arguments': {'z': 1, 'a': [True]}}}]}, "
            "{'role': 'tool', 'content': '21', 'tool_call_id': 'c1'}]");
}

TEST(MessageFields, of_an_answer_come_back_as_litellm_sorts_them) {
  json answer = {{"role", "assistant"},
                 {"content", "Hi"},
                 {"tool_calls", nullptr},
                 {"function_call", nullptr},
                 {"provider_specific_fields", {{"refusal", nullptr}}}};
  EXPECT_EQ(shown(json::array({answer})), "[{'role': 'assistant', 'content': 'Hi'}]");
  answer["provider_specific_fields"]["reasoning"] = "Hm.";
  EXPECT_EQ(shown(json::array({answer})),
            "[{'role': 'assistant', 'content': 'Hi', 'reasoning_content': 'Hm.'}]");
  answer["provider_specific_fields"]["mood"] = "calm";
  EXPECT_EQ(shown(json::array({answer})),
            "unknown field 'messages[0].provider_specific_fields.mood'");
}

TEST(MessageFields, come_with_what_else_a_template_reads) {
  const ModelCard model = card_with(
      "{{ bos_token }}{{ eos_token }}{{ add_generation_prompt }}{{ tools }}{{ deep }}"
      "{{ strftime_now('%Y') }}");
  EXPECT_EQ(prompt_of({{"messages", json::array({user("Hi")})},
                       {"chat_template_kwargs", {{"deep", true}, {"bos_token", "x"}}}},
                      model),
            "<s></s>TrueNoneTrue2026");
}

TEST(MessageFields, without_a_template_are_chatml) {
  const ModelCard model{.id = "m", .vocabulary_size = 320, .context_tokens = 2000, .created = 1};
  EXPECT_EQ(prompt_of({{"messages", json::array({user("Hi")})}}, model),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
}

TEST(MessageFields, that_are_none_are_refused_by_name) {
  const ModelCard model = card_with("{{ messages }}");
  const auto message = [&](const json& messages) { return shown(messages); };
  EXPECT_EQ(message(json::array()),
            "messages is a list of 0; accepted is a list of at least one message");
  EXPECT_EQ(message("x"), "messages is \"x\"; accepted is a list");
  EXPECT_EQ(message(json::array({"x"})), "messages[0] is \"x\"; accepted is an object");
  EXPECT_EQ(message(json::array({user("a"), {{"role", "robot"}, {"content", "x"}}})),
            "messages[1].role is \"robot\"; accepted is \"system\", \"developer\", \"user\", "
            "\"assistant\", \"tool\"");
  EXPECT_EQ(message(json::array({{{"role", "user"}}})),
            "messages[0].content is missing; accepted is a text, or a list of parts {\"type\": "
            "\"text\", \"text\": ...}");
  const json image = {{"type", "image_url"}, {"image_url", {{"url", "x"}}}};
  EXPECT_EQ(message(json::array({user(json::array({image}))})),
            "messages[0].content[0].type is \"image_url\"; accepted is \"text\"");
  const json call = {{"id", "c"}, {"type", "function"}, {"function", {{"name", "f"}}}};
  json broken = {{"role", "assistant"}, {"tool_calls", json::array({call})}};
  broken["tool_calls"][0]["function"]["arguments"] = "{";
  EXPECT_EQ(message(json::array({broken})),
            "messages[0].tool_calls[0].function.arguments is \"{\"; accepted is a JSON object as "
            "text");
  EXPECT_EQ(message(json::array({{{"role", "user"}, {"content", "a"}, {"mood", 1}}})),
            "unknown field 'messages[0].mood'");
}

TEST(MessageFields, that_a_template_refuses_are_refused_in_its_words) {
  const json hello = {{"messages", json::array({user("Hi")})}};
  EXPECT_EQ(prompt_of(hello, card_with("{{ raise_exception('Say more.') }}")),
            "the chat template refuses them: Say more.");
  EXPECT_EQ(
      prompt_of(hello, card_with("a\n{{ messages + 1 }}")),
      "the chat template: line 2: operator '+': can only concatenate list (not \"int\") to list");
  EXPECT_EQ(prompt_of(hello, card_with("{% for a in range(9999) %}{% for b in range(9999) %}"
                                       "{% endfor %}{% endfor %}")),
            "the chat template: line 1: the template needs more than 5000000 steps");
  ModelCard broken = card_with("");
  broken.chat = tl::unexpected(std::string("m.gguf: line 1: nonsense"));
  EXPECT_EQ(prompt_of(hello, broken), "messages need a chat template: m.gguf: line 1: nonsense");
}

TEST(MessageFields, leave_the_answer_what_the_context_leaves) {
  const ModelCard model = card_with("{{ messages[0].content }}");
  const auto tokens = [&](const json& patch) {
    json body = {{"model", "m"}, {"messages", json::array({user("12345")})}};
    for (const auto& [name, value] : patch.items()) body[name] = value;
    const auto parsed = parse_request(RequestKind::chat, body.dump(), model).value();
    return tokenize(parsed, model, text::ByteTokenizer(), {}).value().max_tokens;
  };
  EXPECT_EQ(tokens(json::object()), 1995U);
  EXPECT_EQ(tokens({{"max_tokens", 7}}), 7U);
  EXPECT_EQ(tokens({{"max_completion_tokens", 8}}), 8U);
  EXPECT_EQ(tokens({{"max_completion_tokens", 8}, {"max_tokens", 8}}), 8U);
  EXPECT_EQ(prompt_of({{"messages", json::array({user("Hi")})},
                       {"max_tokens", 3},
                       {"max_completion_tokens", 4}},
                      model),
            "max_completion_tokens is 4, and max_tokens 3; accepted is one of them, or the same "
            "number");
  EXPECT_EQ(prompt_of({{"messages", json::array({user(std::string(2000, 'a'))})}}, model),
            "messages of 2000 bytes is too long: max_tokens 1 leaves room for 1999 tokens, of up "
            "to 1 bytes each; accepted are up to 1999 bytes; the context of model 'm' has 2000 "
            "tokens");
}

}  // namespace
}  // namespace forge::serve
