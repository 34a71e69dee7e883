// The prefix cache, sessions, priorities and time limits, seen from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const std::string kPrompt(40, 'x');  // two blocks of 16 and a half

std::uint64_t cached_tokens(const json& answer) {
  return answer["usage"]["prompt_tokens_details"]["cached_tokens"];
}

json completion_with(const json& fields = json::object()) {
  json body = completion(kPrompt, 4);
  body.update(fields);
  return body;
}

json stats(HttpClient& client) { return client.get("/forge/v1/cache/stats").json(); }

unsigned release(HttpClient& client, const std::string& id) {
  client.send(HttpClient::text("DELETE", "/forge/v1/sessions/" + id, ""));
  return client.read().status;
}

TEST(HttpCache, usage_tells_how_much_of_the_prompt_was_cached) {
  TestServer server;
  HttpClient client(server.port());
  EXPECT_EQ(cached_tokens(client.post("/v1/completions", completion_with()).json()), 0U);
  EXPECT_EQ(cached_tokens(client.post("/v1/completions", completion_with()).json()), 32U);
  const json disabled = completion_with({{"prefix_cache", "disable"}});
  EXPECT_EQ(cached_tokens(client.post("/v1/completions", disabled).json()), 0U);
  client.send(HttpClient::text(
      "/v1/completions",
      completion_with({{"stream", true}, {"stream_options", {{"include_usage", true}}}})));
  client.read_header();
  const auto events = client.read_events();
  ASSERT_GE(events.size(), 2U);
  EXPECT_EQ(cached_tokens(json::parse(events[events.size() - 2])), 32U);
}

TEST(HttpCache, stats_tell_what_the_cache_has_done_and_holds) {
  TestServer server;
  HttpClient client(server.port());
  client.post("/v1/completions", completion_with());
  client.post("/v1/completions", completion_with());
  ASSERT_TRUE(server->eventually_idle());
  EXPECT_EQ(stats(client), json({{"prefix_cache", "radix"},
                                 {"queries", 2},
                                 {"hits", 1},
                                 {"query_tokens", 80},
                                 {"hit_tokens", 32},
                                 {"recovered_tokens", 0},
                                 {"evictions", 0},
                                 {"sessions", 0},
                                 {"chat_sessions", 0},
                                 {"chat_session_bytes", 0},
                                 {"evictable_blocks", 2},
                                 {"free_blocks", 510},
                                 {"total_blocks", 512},
                                 {"swaps", 0},
                                 {"swapped_sequences", 0},
                                 {"free_host_blocks", 0},
                                 {"total_host_blocks", 0}}));
}

TEST(HttpCache, a_cleared_cache_is_empty_when_the_answer_comes) {
  TestServer server;
  HttpClient client(server.port());
  client.post("/v1/completions", completion_with());
  ASSERT_TRUE(server->eventually_idle());
  EXPECT_EQ(stats(client)["evictable_blocks"], 2);
  client.send(HttpClient::text("POST", "/forge/v1/cache/clear", ""));
  const auto cleared = client.read();
  EXPECT_EQ(cleared.status, 200U);
  EXPECT_EQ(cleared.json(), json({{"cleared", true}}));
  EXPECT_EQ(stats(client)["evictable_blocks"], 0);
  EXPECT_EQ(cached_tokens(client.post("/v1/completions", completion_with()).json()), 0U);
}

TEST(HttpCache, clear_takes_no_fields) {
  TestServer server;
  HttpClient client(server.port());
  EXPECT_EQ(client.post("/forge/v1/cache/clear", json::object()).status, 200U);
  const auto refused = client.post("/forge/v1/cache/clear", {{"all", true}});
  EXPECT_EQ(refused.status, 400U);
  EXPECT_EQ(refused.json()["error"]["message"], "unknown field 'all'");
  EXPECT_EQ(client.post("/forge/v1/cache/clear", json::array()).status, 400U);
}

TEST(HttpCache, a_session_keeps_its_kv_until_it_is_released) {
  TestServer server;
  HttpClient client(server.port());
  client.post("/v1/completions", completion_with({{"session", 7}}));
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.running == 0; }));
  EXPECT_EQ(stats(client)["sessions"], 1);
  EXPECT_EQ(stats(client)["evictable_blocks"], 0)
      << "the session holds them: they are not given up";
  client.send(HttpClient::text("DELETE", "/forge/v1/sessions/7", ""));
  const auto released = client.read();
  EXPECT_EQ(released.status, 200U);
  EXPECT_EQ(released.json(), json({{"id", 7}, {"object", "session"}, {"deleted", true}}));
  EXPECT_EQ(stats(client)["sessions"], 0);
  EXPECT_EQ(stats(client)["evictable_blocks"], 2);
  EXPECT_EQ(release(client, "7"), 404U);
}

TEST(HttpCache, a_session_that_does_not_exist_is_404_and_what_is_no_id_is_400) {
  TestServer server;
  HttpClient client(server.port());
  client.send(HttpClient::text("DELETE", "/forge/v1/sessions/12", ""));
  const auto unknown = client.read();
  EXPECT_EQ(unknown.status, 404U);
  EXPECT_EQ(unknown.json()["error"]["code"], "session_not_found");
  EXPECT_THAT(unknown.json()["error"]["message"].get<std::string>(),
              HasSubstr("there is no session 12"));
  for (const char* id :
       {"", "x", "-1", "1.5", "7x", "9223372036854775808", "99999999999999999999"}) {
    EXPECT_EQ(release(client, id), 400U) << id;
  }
}

TEST(HttpCache, a_session_needs_a_server_with_a_prefix_cache) {
  TestServer server({.scheduler = {.prefix_cache = PrefixCacheKind::none}});
  HttpClient client(server.port());
  const auto refused = client.post("/v1/completions", completion_with({{"session", 7}}));
  EXPECT_EQ(refused.status, 400U);
  EXPECT_THAT(refused.json()["error"]["message"].get<std::string>(), HasSubstr("prefix cache"));
  EXPECT_EQ(stats(client)["prefix_cache"], "none");
}

TEST(HttpCache, a_request_out_of_steps_is_answered_with_what_it_has) {
  TestServer server;
  HttpClient client(server.port());
  json body = completion("Hello", 30);
  body["deadline_steps"] = 3;
  const auto response = client.post("/v1/completions", body);
  EXPECT_EQ(response.status, 200U);
  EXPECT_EQ(response.json()["choices"][0]["finish_reason"], "deadline");
  EXPECT_EQ(response.json()["choices"][0]["text"], expected_text("Hello", 3));
  EXPECT_EQ(response.json()["usage"]["completion_tokens"], 3);
}

TEST(HttpCache, a_request_out_of_time_is_answered_with_what_it_has) {
  TestServer server;
  server.executor.slow_down(std::chrono::milliseconds(5));
  HttpClient client(server.port());
  json body = stream("Hello", 2000);
  body["timeout_s"] = 0.1;
  client.send(HttpClient::text("/v1/completions", body));
  client.read_header();
  const auto events = client.read_events();
  ASSERT_GE(events.size(), 2U);
  EXPECT_EQ(events.back(), "[DONE]");
  EXPECT_EQ(json::parse(events[events.size() - 2])["choices"][0]["finish_reason"], "deadline");
  EXPECT_LE(events.size(), 24U) << "5 ms a token in 100 ms";
  EXPECT_TRUE(server->eventually_idle());
}

TEST(HttpCache, the_servers_limit_holds_for_every_request_and_a_longer_one_does_not_lift_it) {
  TestServer server({.http = {.request_timeout = std::chrono::milliseconds(50)}});
  server.executor.slow_down(std::chrono::milliseconds(2));
  HttpClient client(server.port());
  for (const json& field : {json::object(), json{{"timeout_s", 1000}}}) {
    json body = completion("Hello", 2000);
    body.update(field);
    EXPECT_EQ(client.post("/v1/completions", body).json()["choices"][0]["finish_reason"],
              "deadline");
  }
}

TEST(HttpCache, who_is_more_important_goes_first) {
  TestServer server({.scheduler = {.batch = {.max_batch_size = 1}}});
  server.executor.allow_only(0);
  HttpClient running(server.port()), low(server.port()), high(server.port());
  running.send(HttpClient::text("/v1/completions", completion("running", 2)));
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.waiting == 1; }));
  low.send(HttpClient::text("/v1/completions", completion_with({{"priority", "low"}})));
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.waiting == 2; }));
  high.send(HttpClient::text("/v1/completions", completion_with({{"priority", "high"}})));
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.waiting == 3; }));
  server.executor.allow_only(6);  // two steps of the first, four of the next
  EXPECT_EQ(running.read().status, 200U);
  EXPECT_EQ(high.read().status, 200U);
  EXPECT_EQ(server->loop().status().waiting, 1U);
  server.executor.release();
  EXPECT_EQ(low.read().status, 200U);
}

TEST(HttpCache, methods_that_a_path_does_not_take_are_405) {
  TestServer server;
  HttpClient client(server.port());
  EXPECT_EQ(client.get("/forge/v1/cache/clear").header("Allow"), "POST");
  const auto get = client.get("/forge/v1/sessions/1");
  EXPECT_EQ(get.status, 405U);
  EXPECT_EQ(get.header("Allow"), "DELETE");
  client.send(HttpClient::text("DELETE", "/v1/models", ""));
  EXPECT_EQ(client.read().status, 405U);
}

}  // namespace
}  // namespace forge::test
