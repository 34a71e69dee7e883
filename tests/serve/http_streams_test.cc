// What HTTP promises holds over each kind of stream: TCP, a Unix socket, TLS over either.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "serve/stream_kinds.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

using std::chrono::milliseconds;

using HttpStreams = OverEachStream;

TEST_P(HttpStreams, answers_whole_and_streamed_on_one_connection) {
  TestServer server(options());
  HttpClient client(server.place());
  for (const std::string prompt : {"one", "two"}) {
    EXPECT_EQ(client.post("/v1/completions", completion(prompt, 9)).json()["choices"][0]["text"],
              expected_text(prompt, 9));
    client.send(HttpClient::text("/v1/completions", stream(prompt, 9)));
    EXPECT_EQ(client.read_header().status, 200U);
    EXPECT_EQ(client.read_events().size(), 10U);
  }
}

TEST_P(HttpStreams, requests_that_are_sent_together_are_answered_in_turn) {
  TestServer server(options());
  HttpClient client(server.place());
  client.send(HttpClient::text("/v1/completions", completion("one", 3)) +
              HttpClient::text("/v1/completions", completion("two", 3)));
  for (const char* prompt : {"one", "two"}) {
    EXPECT_EQ(client.read().json()["choices"][0]["text"], expected_text(prompt, 3));
  }
}

TEST_P(HttpStreams, what_is_sent_while_an_answer_runs_is_the_next_request) {
  TestServer server(options());
  server.executor.allow_only(1);
  HttpClient client(server.place());
  client.send(HttpClient::text("/v1/completions", completion("one", 3)));
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.running == 1; }));
  client.send(HttpClient::text("/v1/completions", completion("two", 3)));
  server.executor.release();
  for (const char* prompt : {"one", "two"}) {
    EXPECT_EQ(client.read().json()["choices"][0]["text"], expected_text(prompt, 3));
  }
}

TEST_P(HttpStreams, long_requests_and_answers_are_whole) {
  TestServer server(options());
  HttpClient client(server.place());
  const std::string prompt(100'000, 'x');  // several records of TLS, and several reads
  const auto answer = client.post("/tokenize", {{"model", "fake"}, {"prompt", prompt}}).json();
  EXPECT_EQ(answer["count"], 100'000);
  EXPECT_EQ(answer["tokens"].size(), 100'000U);
}

TEST_P(HttpStreams, a_request_that_comes_byte_by_byte_is_answered) {
  TestServer server(options());
  HttpClient client(server.place());
  for (const char byte : HttpClient::text("/v1/completions", completion("slow", 3))) {
    client.send({&byte, 1});
  }
  EXPECT_EQ(client.read().json()["choices"][0]["text"], expected_text("slow", 3));
}

TEST_P(HttpStreams, the_request_of_a_client_that_goes_away_is_cancelled) {
  for (const nlohmann::json& body : {completion("x", 8000), stream("x", 8000)}) {
    TestServer server(options());
    server.executor.slow_down(milliseconds(1));
    HttpClient client(server.place());
    client.send(HttpClient::text("/v1/completions", body));
    ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.running == 1; }));
    client.close();
    ASSERT_TRUE(server->eventually_idle());
    EXPECT_LT(server.loop().status().generated_tokens, 8000U);
  }
}

TEST_P(HttpStreams, a_client_that_does_not_read_is_dropped) {
  constexpr int kTokens = 50'000;  // each with 2000 bytes: no buffer of the system holds them
  TestServer server(options({.scheduler = {.cache = {.num_blocks = 4096, .block_size = 16}},
                             .http = {.stream_backlog_tokens = 100},
                             .model_id = std::string(2000, 'm')}));
  server.executor.slow_down(std::chrono::microseconds(250));
  HttpClient lazy(server.place(), 4096);
  nlohmann::json body = stream("lazy", kTokens);
  body["model"] = std::string(2000, 'm');
  lazy.send(HttpClient::text("/v1/completions", body));
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.running == 1; }));
  ASSERT_TRUE(server->eventually_idle());
  EXPECT_LT(server.loop().status().generated_tokens, std::uint64_t{kTokens});
}

TEST_P(HttpStreams, a_connection_without_a_request_is_closed_in_order) {
  TestServer server(options({.http = {.idle_timeout = milliseconds(100)}}));
  HttpClient client(server.place());
  EXPECT_EQ(client.get("/healthz").status, 200U);
  EXPECT_TRUE(client.closed_by_server());
}

TEST_P(HttpStreams, what_streams_at_a_shutdown_is_answered_and_ends_in_order) {
  TestServer server(options());
  HttpClient idle(server.place());
  EXPECT_EQ(idle.get("/healthz").status, 200U);
  server.executor.allow_only(2);
  HttpClient client(server.place());
  client.send(HttpClient::text("/v1/completions", stream("x", 5)));
  EXPECT_EQ(client.read_header().status, 200U);
  EXPECT_TRUE(client.next_event());
  server->shutdown();
  EXPECT_TRUE(idle.closed_by_server());
  server.executor.release();
  EXPECT_EQ(client.read_events().back(), "[DONE]");
  EXPECT_TRUE(client.closed_by_server());
  client.close();
  server->wait_for_end();
}

INSTANTIATE_TEST_SUITE_P(All, HttpStreams, ::testing::ValuesIn(kStreamKinds),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace forge::test
