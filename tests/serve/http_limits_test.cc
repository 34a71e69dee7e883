// Whose a request is, and what becomes of those that are beyond the limits of their client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "serve/metrics_text.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;
using serve::ClientLimits;
using ::testing::HasSubstr;
using Response = HttpClient::Response;

/// Who asks, as the target sees it.
class Askers {
 public:
  NextToken next_token() {
    return [this](const Request& request, std::uint32_t produced) {
      const std::lock_guard lock(mutex_);
      if (produced == 0) all_.push_back(request);
      return letter_at(request, produced);
    };
  }
  std::vector<Request> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(all_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<Request> all_;
};

class HttpLimits : public ::testing::Test {
 protected:
  static const serve::NewKey& alice() {
    static const serve::NewKey key = serve::make_key("alice:client").value();
    return key;
  }
  static const serve::NewKey& bob() {
    static const serve::NewKey key = serve::make_key("bob:client").value();
    return key;
  }
  /// Alice with these settings, and Bob.
  static serve::ApiKeys keys_with(const std::string& settings) {
    return serve::ApiKeys::parse(alice().line + settings + "\n" + bob().line).value();
  }

  static void send(HttpClient& client, const json& body, const std::string& key = "",
                   const char* path = "/v1/completions") {
    const auto headers = key.empty() ? HttpClient::Headers{}
                                     : HttpClient::Headers{{"Authorization", "Bearer " + key}};
    client.send(HttpClient::text("POST", path, body.dump(), headers));
  }
  static Response ask(const TestServer& server, const json& body, const std::string& key = "",
                      const char* path = "/v1/completions") {
    HttpClient client(server.port());
    send(client, body, key, path);
    return client.read();
  }

  static json with(json body, const char* field, json value) {
    body[field] = std::move(value);
    return body;
  }
  static json chat(int max_tokens) {
    json body = {{"model", "fake"}, {"messages", {{{"role", "user"}, {"content", "hi"}}}}};
    if (max_tokens > 0) body["max_tokens"] = max_tokens;
    return body;
  }

  /// A stream that is with the engine, which is stopped.
  static std::unique_ptr<HttpClient> begun(TestServer& server, int max_tokens,
                                           const std::string& key = "") {
    server.executor.allow_only(0);
    const auto under_way = [](const engine::EngineStatus& s) { return s.running + s.waiting; };
    const std::size_t before = under_way(server.loop().status());
    auto client = std::make_unique<HttpClient>(server.port());
    send(*client, stream("hello", max_tokens), key);
    EXPECT_TRUE(server->eventually(
        [&](const engine::EngineStatus& s) { return under_way(s) == before + 1; }));
    return client;
  }
  static std::string last_event(HttpClient& client) {
    EXPECT_EQ(client.read_header().status, 200U);
    return client.read_events().back();
  }
};

TEST_F(HttpLimits, requests_are_those_of_their_client_and_its_user) {
  Askers askers;
  const TestServer server(
      {.next_token = askers.next_token(), .keys = keys_with(":weight=7,priority=low")});
  const auto asked = [&](const json& body, const std::string& key, const char* path) {
    EXPECT_EQ(ask(server, body, key, path).status, 200U);
    return askers.take().at(0);
  };
  const Request first = asked(completion("x", 1), alice().key, "/v1/completions");
  EXPECT_EQ(first.weight, 7U);
  EXPECT_EQ(first.user, UserId());
  EXPECT_EQ(first.priority, Priority::low);
  for (const char* path : {"/v1/chat/completions", "/generate"}) {
    const json body = path == std::string("/generate") ? json({{"prompt", "x"}, {"max_tokens", 1}})
                                                       : with(chat(1), "user", "eve");
    const Request other = asked(body, alice().key, path);
    EXPECT_EQ(other.client, first.client) << path;
    EXPECT_EQ(other.weight, 7U) << path;
  }
  const json of_eve = with(completion("x", 1), "user", "eve");
  const Request of_alices_eve = asked(of_eve, alice().key, "/v1/completions");
  const Request of_bobs_eve = asked(of_eve, bob().key, "/v1/completions");
  EXPECT_NE(of_alices_eve.user, UserId());
  EXPECT_NE(of_alices_eve.user, of_bobs_eve.user);
  EXPECT_NE(of_alices_eve.client, of_bobs_eve.client);
  EXPECT_EQ(of_bobs_eve.weight, 1U);
  EXPECT_EQ(asked(with(chat(1), "user", "eve"), bob().key, "/v1/chat/completions").user,
            of_bobs_eve.user);
}

TEST_F(HttpLimits, all_prompts_and_choices_of_a_body_are_of_one_client_and_user) {
  Askers askers;
  const TestServer server({.next_token = askers.next_token()});
  json body = with(completion("", 1), "prompt", {"a", "b", "c"});
  body["n"] = 2;
  body["user"] = "eve";
  EXPECT_EQ(ask(server, body).status, 200U);
  const std::vector<Request> all = askers.take();
  ASSERT_EQ(all.size(), 6U);
  for (const Request& request : all) {
    EXPECT_EQ(request.client, all[0].client);
    EXPECT_EQ(request.user, all[0].user);
  }
  EXPECT_NE(all[0].client, ClientId());
  EXPECT_NE(all[0].user, UserId());
}

TEST_F(HttpLimits, a_client_with_one_request_has_the_turn_after_one_of_another_with_many) {
  Askers askers;
  TestServer server({.scheduler = {.batch = {.max_batch_size = 1}},
                     .next_token = askers.next_token(),
                     .keys = keys_with("")});
  server.executor.allow_only(0);
  HttpClient many(server.port());
  send(many, with(completion("", 3), "prompt", {"a", "b", "c", "d", "e", "f"}), alice().key);
  ASSERT_TRUE(
      server->eventually([](const engine::EngineStatus& s) { return s.running + s.waiting == 6; }));
  HttpClient one(server.port());
  send(one, completion("x", 3), bob().key);
  ASSERT_TRUE(
      server->eventually([](const engine::EngineStatus& s) { return s.running + s.waiting == 7; }));
  server.executor.release();
  EXPECT_EQ(one.read().status, 200U);
  EXPECT_EQ(many.read().status, 200U);
  const std::vector<Request> order = askers.take();
  ASSERT_EQ(order.size(), 7U);
  EXPECT_NE(order[1].client, order[0].client);
  EXPECT_EQ(order[2].client, order[0].client);
}

TEST_F(HttpLimits, a_priority_above_what_a_key_may_ask_for_is_refused) {
  const TestServer server({.http = {.client_limits = {.priority_max = Priority::normal}},
                           .keys = keys_with(":priority=high")});
  const json high = with(completion("x", 1), "priority", "high");
  EXPECT_EQ(ask(server, high, alice().key).status, 200U);
  const Response refused = ask(server, high, bob().key);
  EXPECT_EQ(refused.status, 403U);
  EXPECT_EQ(refused.json()["error"]["code"], "priority_not_allowed");
  EXPECT_EQ(ask(server, completion("x", 1), bob().key).status, 200U);
}

TEST_F(HttpLimits, beyond_what_may_be_under_way_at_a_time_is_429) {
  TestServer server({.keys = keys_with(":concurrent=2")});
  const auto first = begun(server, 20, alice().key);
  const auto second = begun(server, 20, alice().key);
  const Response refused = ask(server, completion("x", 1), alice().key);
  EXPECT_EQ(refused.status, 429U);
  EXPECT_EQ(refused.header("Retry-After"), "1");
  EXPECT_EQ(refused.header("x-ratelimit-limit-requests"), "2");
  EXPECT_EQ(refused.header("x-ratelimit-remaining-requests"), "0");
  EXPECT_EQ(refused.header("x-ratelimit-reset-requests"), "1s");
  EXPECT_EQ(refused.header("x-ratelimit-limit-tokens"), "");
  EXPECT_EQ(refused.json()["error"]["type"], "rate_limit_error");
  EXPECT_EQ(refused.json()["error"]["code"], "rate_limit_exceeded");
  server.executor.release();
  EXPECT_EQ(ask(server, completion("x", 1), bob().key).status, 200U);
  EXPECT_EQ(last_event(*first), "[DONE]");
  const Response taken = ask(server, completion("x", 1), alice().key);
  EXPECT_EQ(taken.status, 200U);
  EXPECT_EQ(taken.header("x-ratelimit-limit-requests"), "2");
  EXPECT_EQ(last_event(*second), "[DONE]");
}

TEST_F(HttpLimits, an_array_is_taken_or_refused_as_a_whole) {
  TestServer server({.http = {.client_limits = {.concurrent = 3}}});
  const auto first = begun(server, 20);
  const json two = with(completion("", 1), "prompt", {"a", "b"});
  const json three = with(completion("", 1), "prompt", {"a", "b", "c"});
  const json four = with(completion("a", 1), "n", 4);
  EXPECT_EQ(ask(server, three).status, 429U);
  const Response never = ask(server, four);
  EXPECT_EQ(never.status, 400U);
  EXPECT_EQ(never.json()["error"]["code"], "request_too_large");
  EXPECT_EQ(never.header("x-ratelimit-remaining-requests"), "2");
  const engine::EngineStatus status = server.loop().status();
  EXPECT_EQ(status.running + status.waiting, 1U) << "nothing of them was begun";
  server.executor.release();
  EXPECT_EQ(ask(server, two).status, 200U);
  EXPECT_EQ(last_event(*first), "[DONE]");
  EXPECT_EQ(ask(server, three).status, 200U);
}

TEST_F(HttpLimits, who_waits_for_a_place_in_the_batch_counts_until_it_has_one) {
  TestServer server({.scheduler = {.cache = {.num_blocks = 64}, .batch = {.max_batch_size = 1}},
                     .http = {.client_limits = {.waiting = 1}}});
  const auto running = begun(server, 20);
  server.executor.allow_only(1);
  EXPECT_EQ(running->read_header().status, 200U) << "it has a token";
  HttpClient waiting(server.port());
  send(waiting, completion("x", 1));
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.waiting == 1; }));
  const Response refused = ask(server, completion("x", 1));
  EXPECT_EQ(refused.status, 429U);
  EXPECT_THAT(refused.body, HasSubstr("requests that wait at a time are limited to 1"));
  EXPECT_EQ(refused.header("x-ratelimit-limit-requests"), "");
  server.executor.release();
  EXPECT_EQ(waiting.read().status, 200U);
  EXPECT_EQ(ask(server, completion("x", 1)).status, 200U);
  EXPECT_EQ(running->read_events().back(), "[DONE]");
}

TEST_F(HttpLimits, a_request_reserves_what_it_may_need_and_gives_back_what_it_did_not) {
  TestServer server(
      {.http = {.client_limits = {.tokens_per_minute = 1000}}, .next_token = says("hi")});
  const auto first = begun(server, 995);
  const Response refused = ask(server, completion("hello", 995));
  EXPECT_EQ(refused.status, 429U);
  EXPECT_THAT(refused.body, HasSubstr("tokens in a minute are limited to 1000"));
  EXPECT_LE(std::stoi(refused.header("Retry-After")), 60);
  EXPECT_EQ(refused.header("x-ratelimit-limit-tokens"), "1000");
  EXPECT_EQ(refused.header("x-ratelimit-limit-requests"), "");
  server.executor.release();
  EXPECT_EQ(last_event(*first), "[DONE]");
  const Response taken = ask(server, completion("hello", 900));
  EXPECT_EQ(taken.status, 200U) << "the first has used five of its prompt and three of the answer";
  EXPECT_GE(std::stoi(taken.header("x-ratelimit-remaining-tokens")), 980);
}

TEST_F(HttpLimits, what_no_minute_has_room_for_is_400_before_and_after_texts_are_tokens) {
  const TestServer server({.http = {.client_limits = {.tokens_per_minute = 100}}});
  const Response before = ask(server, completion("x", 100));
  EXPECT_EQ(before.status, 400U);
  EXPECT_EQ(before.json()["error"]["param"], "max_tokens");
  const Response after = ask(server, completion(std::string(60, 'x'), 41));
  EXPECT_EQ(after.status, 400U);
  EXPECT_EQ(after.json()["error"]["message"],
            "prompts and max_tokens come to 101; tokens in a minute are limited to 100 for this "
            "client");
  EXPECT_EQ(after.header("x-ratelimit-remaining-tokens"), "100");
}

TEST_F(HttpLimits, an_answer_without_max_tokens_has_what_a_minute_has) {
  const TestServer server({.http = {.client_limits = {.tokens_per_minute = 100}}});
  const Response answer = ask(server, chat(0), "", "/v1/chat/completions");
  EXPECT_EQ(answer.status, 200U);
  EXPECT_EQ(answer.json()["usage"]["total_tokens"], 100);
  EXPECT_EQ(answer.json()["choices"][0]["finish_reason"], "length");
}

TEST_F(HttpLimits, who_goes_away_leaves_its_place) {
  TestServer server({.http = {.client_limits = {.concurrent = 1, .tokens_per_minute = 1000}}});
  const auto first = begun(server, 900);
  first->reset();
  server.executor.release();
  Response answer = ask(server, completion("x", 900));
  while (answer.status == 429U) answer = ask(server, completion("x", 900));
  EXPECT_EQ(answer.status, 200U);
}

TEST_F(HttpLimits, what_the_engine_refuses_has_used_nothing) {
  TestServer server({.scheduler = {.batch = {.max_batch_size = 1}},
                     .queue_limit = 1,
                     .http = {.client_limits = {.concurrent = 3, .tokens_per_minute = 1000}}});
  const auto first = begun(server, 20);
  server.executor.allow_only(1);
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.running == 1; }));
  HttpClient waiting(server.port());
  send(waiting, completion("x", 1));
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.waiting == 1; }));
  const Response full = ask(server, completion("x", 400));
  EXPECT_EQ(full.status, 503U);
  EXPECT_EQ(full.header("x-ratelimit-remaining-requests"), "1");
  EXPECT_GE(std::stoi(full.header("x-ratelimit-remaining-tokens")), 1000 - 25 - 2);
  server.executor.release();
  EXPECT_EQ(last_event(*first), "[DONE]");
  EXPECT_EQ(waiting.read().status, 200U);
}

TEST_F(HttpLimits, are_told_on_each_answer_of_what_generates_and_on_no_other) {
  const TestServer server(
      {.http = {.client_limits = {.concurrent = 5, .tokens_per_minute = 1000}}});
  HttpClient streaming(server.port());
  send(streaming, stream("x", 2));
  const json tokenize = {{"prompt", "x"}};
  for (const auto& response :
       {streaming.read_header(), ask(server, completion("x", 1)), ask(server, json::object()),
        ask(server, chat(1), "", "/v1/chat/completions"),
        ask(server, {{"prompt", "x"}, {"max_tokens", 1}}, "", "/generate")}) {
    EXPECT_EQ(response.header("x-ratelimit-limit-requests"), "5") << response.status;
    EXPECT_EQ(response.header("x-ratelimit-limit-tokens"), "1000") << response.status;
  }
  for (const auto& response :
       {ask(server, tokenize, "", "/tokenize"),
        ask(server, completion("x", 1), "", "/v1/completions/render"),
        HttpClient(server.port()).get("/v1/models"), ask(TestServer(), completion("x", 1))}) {
    EXPECT_EQ(response.status, 200U);
    EXPECT_EQ(response.header("x-ratelimit-limit-requests"), "");
    EXPECT_EQ(response.header("x-ratelimit-limit-tokens"), "");
  }
}

TEST_F(HttpLimits, refusals_are_counted_by_limit_and_recorded_with_their_key) {
  std::mutex mutex;
  std::map<unsigned, std::string> keys_by_status;
  TestServerOptions options{
      .http = {.client_limits = {.tokens_per_minute = 1000}, .metrics_open = true},
      .keys = keys_with(":concurrent=1,tokens-per-minute=0")};
  options.http.on_request = [&](const serve::RequestRecord& record) {
    const std::lock_guard lock(mutex);
    keys_by_status[record.status] = record.key;
  };
  TestServer server(options);
  const auto first = begun(server, 20, alice().key);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ask(server, completion("x", 1), alice().key).status, 429U);
  }
  const auto second = begun(server, 995, bob().key);
  EXPECT_EQ(ask(server, completion("hello", 995), bob().key).status, 429U);
  EXPECT_EQ(ask(server, completion("x", 1000), bob().key).status, 400U);
  const MetricsText metrics(HttpClient(server.port()).get("/metrics").body);
  const std::string name = "forge:requests_limited_total";
  EXPECT_EQ(metrics.value(name, {{"limit", "concurrent"}}), 3);
  EXPECT_EQ(metrics.value(name, {{"limit", "waiting"}}), 0);
  EXPECT_EQ(metrics.value(name, {{"limit", "tokens"}}), 1);
  const std::lock_guard lock(mutex);
  EXPECT_EQ(keys_by_status[429], "bob");
  EXPECT_EQ(keys_by_status[400], "bob");
}

TEST_F(HttpLimits, new_limits_of_a_key_end_nothing_that_runs) {
  TestServer server({.keys = keys_with("")});
  const auto first = begun(server, 20, alice().key);
  server->set_keys(keys_with(":concurrent=1"));
  const auto told = [&] {
    return ask(server, json::object(), alice().key).header("x-ratelimit-remaining-requests");
  };
  std::string left;
  while (left.empty()) left = told();
  EXPECT_EQ(left, "0") << "what runs counts";
  server.executor.release();
  EXPECT_EQ(last_event(*first), "[DONE]");
  EXPECT_EQ(told(), "1");
}

}  // namespace
}  // namespace forge::test
