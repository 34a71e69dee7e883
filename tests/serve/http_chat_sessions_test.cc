// Chat by session over HTTP: only new messages are sent, and the answers are those to all of them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "forge/chat/chat_format.h"
#include "forge/cpu/cpu_executor.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;

constexpr const char* kChatPath = "/v1/chat/completions";

const std::vector<std::string> kQuestions = {"Hello!", "Who are you, and since when?", "Why?",
                                             "Then good bye."};

/// Of earlier answers it keeps what is behind the last 'h', as templates drop earlier reasoning.
constexpr const char* kRewriting =
    "{% for m in messages %}<{{ m.role }}>"
    "{{ m.content.split('h')[-1] if m.role == 'assistant' else m.content }}{% endfor %}<assistant>";

serve::ServedChatFormat format_of(const std::string& text) {
  return std::make_shared<const chat::ChatFormat>(
      chat::ChatFormat{.chat_template = chat::ChatTemplate::parse(text).value(),
                       .bos_token = std::nullopt,
                       .eos_token = std::nullopt});
}

class HttpChatSessions : public ::testing::Test {
 protected:
  static json user(const std::string& text) { return {{"role", "user"}, {"content", text}}; }

  static json body(const json& messages, const json& patch) {
    json body = {{"model", "fake"}, {"max_tokens", 24}, {"temperature", 0}, {"messages", messages}};
    body.update(patch);
    return body;
  }

  static HttpClient::Response post(HttpClient& client, const json& messages, const json& patch) {
    return client.post(kChatPath, body(messages, patch));
  }
  static json answer(HttpClient& client, const json& messages, const json& patch) {
    const auto response = post(client, messages, patch);
    EXPECT_EQ(response.status, 200U) << response.body;
    return response.json();
  }
  static std::uint64_t cached(const json& answer) {
    return answer["usage"]["prompt_tokens_details"]["cached_tokens"];
  }
  static json streamed(HttpClient& client, const json& messages, json patch) {
    patch.update({{"stream", true}, {"stream_options", {{"include_usage", true}}}});
    client.send(HttpClient::text(kChatPath, body(messages, patch)));
    EXPECT_EQ(client.read_header().status, 200U);
    std::string text;
    json last;
    for (const std::string& event : client.read_events()) {
      if (event == "[DONE]") break;
      last = json::parse(event);
      if (last["choices"].empty()) break;
      text += last["choices"][0]["delta"].value("content", "");
    }
    last["choices"] = {{{"message", {{"role", "assistant"}, {"content", text}}}}};
    return last;
  }
  static unsigned forget(HttpClient& client, const std::string& id) {
    client.send(HttpClient::text("DELETE", "/forge/v1/sessions/" + id, ""));
    return client.read().status;
  }

  /// Four turns by session; each must be the answer of a second server to everything. Returns: the
  /// cached tokens of each turn.
  std::vector<std::uint64_t> talk(const TestServerOptions& options, bool streams, bool clears) {
    RunningServer server(executor_, options);
    RunningServer plain_server(plain_executor_, options);
    HttpClient client(server.port());
    HttpClient plain(plain_server.port());
    json all = json::array();
    std::vector<std::uint64_t> cached_tokens;
    for (const std::string& question : kQuestions) {
      const json patch = {{"session", 7}, {"session_messages", all.size()}};
      const json new_messages = json::array({user(question)});
      const json by_session =
          streams ? streamed(client, new_messages, patch) : answer(client, new_messages, patch);
      EXPECT_EQ(by_session["forge"]["session_messages"], all.size());
      all.push_back(user(question));
      const json by_all = answer(plain, all, {{"prefix_cache", "disable"}});
      const json& message = by_session["choices"][0]["message"];
      EXPECT_EQ(message["content"], by_all["choices"][0]["message"]["content"]) << question;
      EXPECT_EQ(by_session["usage"]["prompt_tokens"], by_all["usage"]["prompt_tokens"]);
      EXPECT_EQ(by_session["usage"]["completion_tokens"], by_all["usage"]["completion_tokens"]);
      EXPECT_FALSE(by_all.contains("forge"));
      all.push_back({{"role", "assistant"}, {"content", message["content"]}});
      cached_tokens.push_back(cached(by_session));
      if (clears) client.post("/forge/v1/cache/clear", json::object());
    }
    return cached_tokens;
  }

  cpu::CpuExecutor executor_{{}, cpu::seeded_cpu_model({}, {})};
  cpu::CpuExecutor plain_executor_{{}, cpu::seeded_cpu_model({}, {})};
};

TEST_F(HttpChatSessions, each_answer_is_that_to_everything_and_what_was_said_is_not_run_again) {
  const auto cached_tokens = talk({}, false, false);
  EXPECT_EQ(cached_tokens[0], 0U);
  EXPECT_GE(cached_tokens[1], 48U);
  for (std::size_t i = 1; i < cached_tokens.size(); ++i) {
    EXPECT_GT(cached_tokens[i], cached_tokens[i - 1]);
  }
}

TEST_F(HttpChatSessions, without_cached_kv_the_answers_are_the_same) {
  EXPECT_EQ(talk({}, false, true), std::vector<std::uint64_t>(4, 0));
}

TEST_F(HttpChatSessions, streamed_turns_are_kept_too) { EXPECT_GT(talk({}, true, false)[3], 48U); }

TEST_F(HttpChatSessions, a_template_that_rewrites_history_is_correct) {
  TestServerOptions options;
  options.chat = format_of(kRewriting);
  const auto rewritten = talk(options, false, false);
  EXPECT_GE(rewritten[1], 8U);  // up to the answer
}

TEST_F(HttpChatSessions, a_session_has_one_turn_at_a_time_and_keeps_none_whose_client_has_gone) {
  RunningServer server(executor_, {});
  HttpClient client(server.port());
  answer(client, json::array({user("a")}), {{"session", 7}});
  HttpClient slow(server.port());
  slow.send(HttpClient::text(
      kChatPath,
      body(json::array({user("b")}),
           {{"session", 7}, {"stream", true}, {"max_tokens", 7000}, {"ignore_eos", true}})));
  ASSERT_EQ(slow.read_header().status, 200U);
  ASSERT_TRUE(slow.next_event());
  const auto second = post(client, json::array({user("c")}), {{"session", 7}});
  EXPECT_EQ(second.status, 409U);
  EXPECT_EQ(second.json()["error"]["code"], "session_busy");
  slow.close();
  ASSERT_TRUE(server.eventually(
      [](const engine::EngineStatus& status) { return status.running + status.waiting == 0; }));
  const json third = answer(client, json::array({user("d")}), {{"session", 7}});
  EXPECT_EQ(third["forge"]["session_messages"], 2);
}

TEST_F(HttpChatSessions, a_turn_that_fails_is_not_kept) {
  TestServerOptions options;
  options.chat = format_of(
      "{% for m in messages %}{{ raise_exception('No.') if m.content == 'no' else m.content }}"
      "{% endfor %}");
  RunningServer server(executor_, options);
  HttpClient client(server.port());
  EXPECT_EQ(post(client, json::array({user("no")}), {{"session", 7}}).status, 400U);
  answer(client, json::array({user("yes")}), {{"session", 7}, {"session_messages", 0}});
  EXPECT_EQ(post(client, json::array({user("no")}), {{"session", 7}}).status, 400U);
  EXPECT_EQ(post(client, json::array({user(std::string(9000, 'x'))}), {{"session", 7}}).status,
            400U);
  answer(client, json::array({user("yes")}), {{"session", 7}, {"session_messages", 2}});
}

TEST_F(HttpChatSessions, what_is_forgotten_is_said) {
  RunningServer server(executor_, {});
  HttpClient client(server.port());
  EXPECT_EQ(forget(client, "7"), 404U);
  answer(client, json::array({user("a")}), {{"session", 7}});
  const json stats = client.get("/forge/v1/cache/stats").json();
  EXPECT_EQ(stats["chat_sessions"], 1);
  EXPECT_GT(stats["chat_session_bytes"], 0);
  EXPECT_EQ(forget(client, "7"), 200U);
  EXPECT_EQ(forget(client, "7"), 404U);
  const auto expects =
      post(client, json::array({user("b")}), {{"session", 7}, {"session_messages", 2}});
  EXPECT_EQ(expects.status, 409U);
  EXPECT_EQ(expects.json()["error"]["message"],
            "the session has 0 messages, and session_messages is 2");
  EXPECT_EQ(answer(client, json::array({user("b")}), {{"session", 7}})["forge"]["session_messages"],
            0);
}

TEST_F(HttpChatSessions, messages_and_kv_of_one_that_gives_its_place_up_go_together) {
  TestServerOptions options;
  options.http.chat_sessions.sessions = 1;
  RunningServer server(executor_, options);
  HttpClient client(server.port());
  answer(client, json::array({user("a")}), {{"session", 7}});
  answer(client, json::array({user("a")}), {{"session", 8}});
  EXPECT_TRUE(
      server.eventually([](const engine::EngineStatus& status) { return status.sessions == 1; }));
  EXPECT_EQ(answer(client, json::array({user("b")}), {{"session", 7}})["forge"]["session_messages"],
            0);
}

TEST_F(HttpChatSessions, fields_that_need_a_session_say_so) {
  RunningServer server(executor_, {});
  HttpClient client(server.port());
  const json messages = json::array({user("a")});
  for (const auto& [patch, param] : {std::pair{json{{"session_messages", 0}}, "session_messages"},
                                     {json{{"session", 7}, {"n", 2}}, "session"},
                                     {json{{"session", 7}, {"prefix_cache", "disable"}}, "session"},
                                     {json{{"session", -1}}, "session"}}) {
    const auto refused = post(client, messages, patch);
    EXPECT_EQ(refused.status, 400U) << patch;
    EXPECT_EQ(refused.json()["error"]["param"], param) << refused.body;
  }
}

}  // namespace
}  // namespace forge::test
