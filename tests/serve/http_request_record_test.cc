// What a server tells of its requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <vector>

#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;
using serve::RequestRecord;

/// Keeps the records of a server.
class Records {
 public:
  TestServerOptions of(TestServerOptions options) {
    options.http.on_request = [this](const RequestRecord& record) {
      const std::lock_guard lock(mutex_);
      all_.push_back(record);
      changed_.notify_all();
    };
    return options;
  }
  /// The record number `index`, which may have to come yet.
  RequestRecord at(std::size_t index) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return all_.size() > index; });
    return all_[index];
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return all_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<RequestRecord> all_;
};

TEST(HttpRequestRecord, has_the_ids_counts_and_times_of_an_answer) {
  Records records;
  TestServer server(records.of({}));
  HttpClient client(server.port());
  client.send(HttpClient::text(
      "POST", "/v1/completions", completion("hello", 5).dump(),
      {{"Content-Type", "application/json"},
       {"X-Request-Id", "mine"},
       {"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}));
  EXPECT_EQ(client.read().status, 200U);
  const RequestRecord record = records.at(0);
  EXPECT_EQ(record.request_id, "mine");
  EXPECT_EQ(record.trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(record.key, "");
  EXPECT_EQ(record.method, "POST");
  EXPECT_EQ(record.route, "/v1/completions");
  EXPECT_EQ(record.status, 200U);
  ASSERT_TRUE(record.tokens);
  EXPECT_EQ(record.tokens->prompt, 5U);
  EXPECT_EQ(record.tokens->completion, 5U);
  EXPECT_EQ(record.tokens->finish, FinishReason::length);
  ASSERT_TRUE(record.tokens->queued && record.tokens->first);
  EXPECT_LE(*record.tokens->queued, *record.tokens->first);
  EXPECT_LE(*record.tokens->first, record.time);
}

TEST(HttpRequestRecord, adds_up_the_choices_of_a_stream) {
  Records records;
  TestServer server(records.of({}));
  HttpClient client(server.port());
  json body = stream("hello", 4);
  body["n"] = 3;
  client.send(HttpClient::text("/v1/completions", body));
  const std::string id = client.read_header().header("X-Request-Id");
  client.read_events();
  const RequestRecord record = records.at(0);
  EXPECT_EQ(record.request_id, id);
  ASSERT_TRUE(record.tokens);
  EXPECT_EQ(record.tokens->prompt, 5U);
  EXPECT_EQ(record.tokens->completion, 12U);
}

TEST(HttpRequestRecord, of_what_is_refused_has_no_tokens) {
  const auto alice = serve::make_key("alice:client").value();
  Records records;
  TestServer server(records.of({.keys = serve::ApiKeys::parse(alice.line).value()}));
  const auto ask = [&server](const std::string& key, const char* path) {
    HttpClient client(server.port());
    client.send(HttpClient::text("GET", path, "", {{"Authorization", "Bearer " + key}}));
    return client.read().status;
  };
  EXPECT_EQ(ask("fk-0", "/v1/models"), 401U);
  EXPECT_EQ(ask(alice.key, "/v1/models/x"), 404U);
  EXPECT_EQ(ask(alice.key, "/nowhere"), 404U);
  EXPECT_EQ(records.at(0).status, 401U);
  EXPECT_EQ(records.at(0).key, "");
  EXPECT_EQ(records.at(1).key, "alice");
  EXPECT_EQ(records.at(1).route, "/v1/models/ID");
  EXPECT_EQ(records.at(2).route, "") << "what a stranger makes up is not told";
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(records.at(static_cast<std::size_t>(i)).tokens);
}

TEST(HttpRequestRecord, of_a_client_that_goes_away_says_how_far_it_came) {
  Records records;
  TestServer server(records.of({}));
  server.executor.allow_only(3);
  {
    HttpClient client(server.port());
    client.send(HttpClient::text("/v1/completions", stream("hello", 50)));
    client.read_header();
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(client.next_event());
    client.reset();
  }
  const RequestRecord record = records.at(0);
  server.executor.release();
  EXPECT_EQ(record.status, 200U);
  ASSERT_TRUE(record.tokens);
  EXPECT_EQ(record.tokens->finish, FinishReason::none);
  EXPECT_GE(record.tokens->completion, 2U);
  EXPECT_LT(record.tokens->completion, 50U);
}

TEST(HttpRequestRecord, of_a_client_that_goes_away_before_an_answer_has_its_id) {
  Records records;
  TestServer server(records.of({}));
  server.executor.allow_only(0);
  {
    HttpClient client(server.port());
    client.send(HttpClient::text("POST", "/v1/completions", completion("hello", 50).dump(),
                                 {{"Content-Type", "application/json"}, {"X-Request-Id", "mine"}}));
    ASSERT_TRUE(server->eventually(
        [](const engine::EngineStatus& s) { return s.running + s.waiting == 1; }));
    client.reset();
  }
  const RequestRecord record = records.at(0);
  server.executor.release();
  EXPECT_EQ(record.request_id, "mine");
  EXPECT_EQ(record.status, 0U);
  EXPECT_EQ(record.tokens.value().completion, 0U);
}

TEST(HttpRequestRecord, of_a_probe_is_told_where_it_was_not_answered_well) {
  Records records;
  TestServer server(records.of({}));
  HttpClient client(server.port());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.get("/health").status, 200U);
  EXPECT_EQ(client.post("/health", json::object()).status, 405U);
  EXPECT_EQ(records.at(0).status, 405U);
  EXPECT_EQ(records.count(), 1U);
}

TEST(HttpRequestRecord, of_what_is_no_http_has_a_status_alone) {
  Records records;
  TestServer server(records.of({}));
  HttpClient client(server.port());
  client.send("nonsense\r\n\r\n");
  EXPECT_EQ(client.read().status, 400U);
  EXPECT_EQ(records.at(0).status, 400U);
  EXPECT_EQ(records.at(0).method, "");
}

}  // namespace
}  // namespace forge::test
