// Chat over HTTP: whole, streamed and with log-probabilities.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "forge/cpu/cpu_executor.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;

constexpr const char* kChat = "/v1/chat/completions";

class HttpChat : public ::testing::Test {
 protected:
  static json body(const json& patch) {
    json body = {{"model", "fake"},
                 {"max_tokens", 12},
                 {"temperature", 1.5},
                 {"messages", json::array({{{"role", "user"}, {"content", "Hello"}}})}};
    for (const auto& [name, value] : patch.items()) body[name] = value;
    return body;
  }

  json answer(const json& patch) {
    const auto response = client_.post(kChat, body(patch));
    EXPECT_EQ(response.status, 200U) << response.body;
    return response.json();
  }

  cpu::CpuExecutor executor_{{}, cpu::seeded_cpu_model({}, {})};
  RunningServer server_{executor_, {}};
  HttpClient client_{server_.port()};
};

TEST_F(HttpChat, answers_with_the_text_that_goes_on_after_the_rendered_messages) {
  const json chat = answer(json::object());
  EXPECT_EQ(chat["object"], "chat.completion");
  EXPECT_TRUE(chat["id"].get<std::string>().starts_with("chatcmpl-"));
  json completion =
      body({{"prompt", "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"}});
  completion.erase("messages");
  const json plain = client_.post("/v1/completions", completion).json();
  const json& message = chat["choices"][0]["message"];
  EXPECT_EQ(message["role"], "assistant");
  EXPECT_EQ(message["content"], plain["choices"][0]["text"]);
  EXPECT_EQ(chat["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(chat["usage"]["prompt_tokens"], plain["usage"]["prompt_tokens"]);
}

TEST_F(HttpChat, streams_what_it_answers_whole) {
  for (const json& patch : {json::object(), json{{"n", 3}}, json{{"stop", {"a", "e"}}},
                            json{{"logprobs", true}, {"top_logprobs", 2}}}) {
    const json whole = answer(patch);
    json streamed = patch;
    streamed["stream"] = true;
    client_.send(HttpClient::text(kChat, body(streamed)));
    client_.read_header();
    std::vector<std::string> contents(whole["choices"].size());
    std::vector<json> logprobs(contents.size(), json::array());
    std::vector<json> finishes(contents.size());
    std::vector<int> roles(contents.size());
    const auto events = client_.read_events();
    ASSERT_EQ(events.back(), "[DONE]");
    for (std::size_t i = 0; i + 1 < events.size(); ++i) {
      const json event = json::parse(events[i]);
      EXPECT_EQ(event["object"], "chat.completion.chunk");
      const json& choice = event["choices"][0];
      const std::size_t index = choice["index"];
      const json& delta = choice["delta"];
      if (delta.contains("role")) ++roles[index];
      contents[index] += delta.value("content", "");
      if (!choice["logprobs"].is_null()) {
        for (const json& token : choice["logprobs"]["content"]) logprobs[index].push_back(token);
      }
      if (!choice["finish_reason"].is_null()) finishes[index] = choice["finish_reason"];
    }
    for (std::size_t i = 0; i < contents.size(); ++i) {
      const json& choice = whole["choices"][i];
      EXPECT_EQ(contents[i], choice["message"]["content"]);
      EXPECT_EQ(finishes[i], choice["finish_reason"]);
      EXPECT_EQ(roles[i], 1);
      EXPECT_EQ(logprobs[i],
                choice["logprobs"].is_null() ? json::array() : choice["logprobs"]["content"]);
    }
  }
}

TEST_F(HttpChat, tells_so_many_of_the_likeliest_tokens) {
  const json told = answer({{"logprobs", true}, {"top_logprobs", 2}, {"temperature", 2}});
  for (const json& token : told["choices"][0]["logprobs"]["content"]) {
    EXPECT_EQ(token["top_logprobs"].size(), 2U);
    EXPECT_LE(token["logprob"], token["top_logprobs"][0]["logprob"]);
    EXPECT_EQ(token["bytes"].size(), 1U);
  }
  const json alone = answer({{"logprobs", true}});
  EXPECT_EQ(alone["choices"][0]["logprobs"]["content"][0]["top_logprobs"], json::array());
  EXPECT_EQ(answer(json::object())["choices"][0]["logprobs"], nullptr);
}

TEST_F(HttpChat, refuses_a_conversation_that_does_not_fit) {
  const json many = json::array({{{"role", "user"}, {"content", std::string(9000, 'a')}}});
  const auto response = client_.post(kChat, body({{"messages", many}}));
  EXPECT_EQ(response.status, 400U);
  EXPECT_EQ(response.json()["error"]["param"], "messages");
  EXPECT_EQ(response.json()["error"]["code"], "context_length_exceeded");
}

}  // namespace
}  // namespace forge::test
