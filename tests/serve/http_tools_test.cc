// Calls of tools and reasoning over HTTP: what a model says reaches a client in the same parts,
// whole and streamed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "executor/byte_grammars.h"
#include "forge/chat/chat_format.h"
#include "forge/cpu/cpu_executor.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;

constexpr const char* kChat = "/v1/chat/completions";

json weather_tool() {
  return {
      {"type", "function"},
      {"function",
       {{"name", "weather"},
        {"parameters", {{"type", "object"}, {"properties", {{"city", {{"type", "string"}}}}}}}}}};
}

json asks(const json& patch = json::object()) {
  json body = {{"model", "fake"},
               {"max_tokens", 400},
               {"messages", json::array({{{"role", "user"}, {"content", "Hello"}}})},
               {"tools", json::array({weather_tool()})}};
  for (const auto& [name, value] : patch.items()) body[name] = value;
  return body;
}

/// The message that the events of a stream make, as OpenAI's clients put it together, and its
/// finish reason.
json message_of(const std::vector<std::string>& events) {
  json message = {{"content", nullptr}, {"tool_calls", json::array()}};
  json finish;
  for (const std::string& text : events) {
    if (text == "[DONE]") continue;
    const json choice = json::parse(text)["choices"][0];
    EXPECT_TRUE(finish.is_null()) << "an event after the last";
    finish = choice["finish_reason"];
    const json& delta = choice["delta"];
    for (const char* const key : {"content", "reasoning_content"}) {
      if (!delta.contains(key)) continue;
      message[key] = message.value(key, json()).is_null()
                         ? delta[key]
                         : json(message[key].get<std::string>() + delta[key].get<std::string>());
    }
    for (const json& call : delta.value("tool_calls", json::array())) {
      EXPECT_EQ(delta["tool_calls"].size(), 1U);
      if (call.contains("id")) {
        EXPECT_EQ(call["index"], message["tool_calls"].size());
        EXPECT_EQ(call["function"]["arguments"], "");
        message["tool_calls"].push_back({{"type", call["type"]}, {"function", call["function"]}});
        continue;
      }
      json& arguments =
          message["tool_calls"].at(call["index"].get<std::size_t>())["function"]["arguments"];
      arguments = arguments.get<std::string>() + call["function"]["arguments"].get<std::string>();
    }
  }
  if (message["content"] == "") message["content"] = nullptr;
  return {{"message", message}, {"finish_reason", finish}};
}

/// The answer to a request, the same whole and streamed.
json answer(std::uint16_t port, const json& body) {
  HttpClient client(port);
  const auto response = client.post(kChat, body);
  EXPECT_EQ(response.status, 200U) << response.body;
  const json choice = response.json()["choices"][0];
  json message = choice["message"];
  EXPECT_EQ(message["role"], "assistant");
  message.erase("role");
  message.erase("refusal");
  if (!message.contains("tool_calls")) message["tool_calls"] = json::array();
  for (json& call : message["tool_calls"]) {
    EXPECT_TRUE(call["id"].get<std::string>().starts_with("call_"));
    call.erase("id");
  }
  const json whole = {{"message", message}, {"finish_reason", choice["finish_reason"]}};
  json streamed = body;
  streamed["stream"] = true;
  client.send(HttpClient::text(kChat, streamed));
  client.read_header();
  EXPECT_EQ(message_of(client.read_events()), whole);
  return whole;
}

json call_of(const std::string& arguments) {
  return {{"type", "function"}, {"function", {{"name", "weather"}, {"arguments", arguments}}}};
}

std::string calls(const std::string& arguments) {
  return "<tool_call>\n{\"name\": \"weather\", \"arguments\": " + arguments + "}\n</tool_call>";
}

/// A model that says one thing, whatever it is asked.
class Saying {
 public:
  explicit Saying(const std::string& text,
                  serve::ServedChatFormat chat = serve::default_chat_format())
      : server_({.next_token = says(text),
                 .chat = std::move(chat),
                 .grammars = testing::byte_grammars()}) {
    server_.executor.ignores_grammars = true;
  }

  std::uint16_t port() const { return server_.port(); }

 private:
  TestServer server_;
};

TEST(HttpTools, a_call_comes_apart_from_the_text_before_it) {
  const Saying server("I look.\n" + calls(R"({"city": "Oslo"})"));
  const json got = answer(server.port(), asks());
  EXPECT_EQ(got["message"]["content"], "I look.");
  EXPECT_EQ(got["message"]["tool_calls"], json::array({call_of(R"({"city": "Oslo"})")}));
  EXPECT_EQ(got["finish_reason"], "tool_calls");
}

TEST(HttpTools, several_calls_are_several_entries_and_no_text_is_null) {
  const Saying server(calls("{}") + "\n" + calls(R"({"city": ""})"));
  const json got = answer(server.port(), asks());
  EXPECT_EQ(got["message"]["content"], nullptr);
  EXPECT_EQ(got["message"]["tool_calls"], json::array({call_of("{}"), call_of(R"({"city": ""})")}));
  const json one = answer(server.port(), asks({{"parallel_tool_calls", false}}));
  EXPECT_EQ(one["message"]["tool_calls"], json::array({call_of("{}")}));
}

TEST(HttpTools, a_call_that_is_cut_off_has_the_arguments_so_far) {
  const Saying server(calls(R"({"city": "Oslo"})"));
  const json got = answer(server.port(), asks({{"max_tokens", 56}}));
  EXPECT_EQ(got["message"]["tool_calls"], json::array({call_of(R"({"city": "O)")}));
  EXPECT_EQ(got["finish_reason"], "length");
  const json stopped = answer(server.port(), asks({{"stop", "slo"}}));
  EXPECT_EQ(stopped["message"]["tool_calls"], json::array({call_of(R"({"city": "O)")}));
  EXPECT_EQ(stopped["finish_reason"], "stop");
}

TEST(HttpTools, without_tools_a_call_is_text) {
  const std::string text = calls("{}");
  const Saying server(text);
  for (const json& patch : {json{{"tools", nullptr}}, json{{"tool_choice", "none"}}}) {
    const json got = answer(server.port(), asks(patch));
    EXPECT_EQ(got["message"]["content"], text);
    EXPECT_EQ(got["finish_reason"], "stop");
  }
}

TEST(HttpTools, an_answer_with_calls_is_sent_back_as_it_came) {
  const Saying server(calls("{}"));
  HttpClient client(server.port());
  const json first = client.post(kChat, asks()).json();
  json messages = asks()["messages"];
  messages.push_back(first["choices"][0]["message"]);
  messages.push_back(
      {{"role", "tool"}, {"tool_call_id", messages[1]["tool_calls"][0]["id"]}, {"content", "21"}});
  const auto second = client.post(kChat, asks({{"messages", messages}}));
  EXPECT_EQ(second.status, 200U) << second.body;
}

TEST(HttpTools, reasoning_comes_apart_where_the_template_marks_it) {
  const std::string text = "{{ messages[0].content }}<think></think>{{ tools }}<tool_call>";
  chat::ChatFormat format{.chat_template = chat::ChatTemplate::parse(text).value(),
                          .of_model = true,
                          .answers = chat::answer_form_of(text)};
  const Saying server("<think>\nHm.\n</think>\n\nYes.\n" + calls("{}"),
                      std::make_shared<const chat::ChatFormat>(std::move(format)));
  const json got = answer(server.port(), asks());
  EXPECT_EQ(got["message"]["reasoning_content"], "Hm.");
  EXPECT_EQ(got["message"]["content"], "Yes.");
  EXPECT_EQ(got["message"]["tool_calls"], json::array({call_of("{}")}));
  const json plain = answer(server.port(), asks({{"tools", nullptr}}));
  EXPECT_EQ(plain["message"]["reasoning_content"], "Hm.");
  EXPECT_EQ(plain["message"]["content"], "Yes.\n" + calls("{}"));
}

// ---- Calls that are forced ----------------------------------------------------------------------

/// The built-in model, which would never call by itself.
class HttpForcedTools : public ::testing::Test {
 protected:
  static json forced(const json& patch = json::object()) {
    json body = asks({{"max_tokens", 1000}, {"temperature", 1}});
    json& parameters = body["tools"][0]["function"]["parameters"];
    parameters["required"] = {"city"};
    parameters["additionalProperties"] = false;
    parameters["properties"]["city"]["maxLength"] = 9;
    body["tool_choice"] = {{"type", "function"}, {"function", {{"name", "weather"}}}};
    for (const auto& [name, value] : patch.items()) body[name] = value;
    return body;
  }

  json refusal(const json& patch) {
    const auto response = HttpClient(server_.port()).post(kChat, forced(patch));
    EXPECT_EQ(response.status, 400U) << response.body;
    return response.json()["error"];
  }

  std::shared_ptr<grammar::OutputCompiler> grammars_ = testing::byte_grammars();
  executor::ExecutorOptions with_{.grammars = grammars_};
  cpu::CpuExecutor executor_{with_, cpu::seeded_cpu_model({}, with_)};
  RunningServer server_{executor_, {.grammars = grammars_}};
};

TEST_F(HttpForcedTools, have_arguments_of_their_schema_whole_and_streamed) {
  for (int seed = 0; seed < 3; ++seed) {
    const json got = answer(server_.port(), forced({{"seed", seed}}));
    EXPECT_EQ(got["message"]["content"], nullptr);
    EXPECT_EQ(got["finish_reason"], "tool_calls");
    ASSERT_EQ(got["message"]["tool_calls"].size(), 1U);
    const json& function = got["message"]["tool_calls"][0]["function"];
    EXPECT_EQ(function["name"], "weather");
    const json arguments = json::parse(function["arguments"].get<std::string>());
    EXPECT_EQ(arguments.size(), 1U);
    EXPECT_TRUE(arguments.at("city").is_string());
  }
}

TEST_F(HttpForcedTools, are_of_any_tool_where_one_is_required) {
  json body = forced({{"tool_choice", "required"}});
  body["tools"].push_back({{"type", "function"}, {"function", {{"name", "time"}}}});
  std::set<std::string> names;
  for (int seed = 0; seed < 8; ++seed) {
    body["seed"] = seed;
    body["parallel_tool_calls"] = seed % 2 == 0;
    const json got = answer(server_.port(), body);
    ASSERT_GE(got["message"]["tool_calls"].size(), 1U);
    if (seed % 2 == 1) {
      EXPECT_EQ(got["message"]["tool_calls"].size(), 1U);
    }
    for (const json& call : got["message"]["tool_calls"]) names.insert(call["function"]["name"]);
  }
  EXPECT_EQ(names, (std::set<std::string>{"time", "weather"}));
}

TEST_F(HttpForcedTools, are_refused_where_they_cannot_be) {
  const json few = refusal({{"max_tokens", 60}});
  EXPECT_EQ(few["param"], "tool_choice");
  EXPECT_EQ(few["message"],
            "tool_choice forces a call, which takes 61 tokens or more; max_tokens is 60 here, and "
            "the context of model 'fake' has 8192 tokens");
  json tools = forced()["tools"];
  tools[0]["function"]["parameters"]["properties"]["city"]["maxLength"] = -1;
  EXPECT_THAT(
      refusal({{"tools", tools}})["message"].get<std::string>(),
      ::testing::StartsWith("tools[0].function.parameters at /properties/city/maxLength: "));
  EXPECT_EQ(refusal({{"ignore_eos", true}})["param"], "ignore_eos");
  EXPECT_EQ(refusal({{"response_format", {{"type", "json_object"}}}})["message"],
            "response_format is there, and so is tools; accepted is one of them");
}

}  // namespace
}  // namespace forge::test
