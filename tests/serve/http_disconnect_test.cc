// Clients that go away: their requests end and their blocks come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "serve/test_server.h"

namespace forge::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

bool is_running(const engine::EngineStatus& status) { return status.running == 1; }

TEST(HttpDisconnect, a_stream_whose_client_closes_is_cancelled_and_its_blocks_freed) {
  TestServer server;
  server.executor.allow_only(3);
  HttpClient client(server.port());
  client.send(HttpClient::text("/v1/completions", stream("x", 8000)));
  client.read_header();
  client.next_event();
  ASSERT_TRUE(server->eventually(is_running));
  client.close();
  server.executor.slow_down(std::chrono::milliseconds(1));
  server.executor.release();
  ASSERT_TRUE(server->eventually_idle());
  EXPECT_LT(server.loop().status().generated_tokens, 8000U);
}

TEST(HttpDisconnect, a_stream_whose_client_resets_is_cancelled) {
  TestServer server;
  server.executor.slow_down(std::chrono::milliseconds(1));
  HttpClient client(server.port());
  client.send(HttpClient::text("/v1/completions", stream("x", 8000)));
  client.read_header();
  client.next_event();
  client.reset();
  ASSERT_TRUE(server->eventually_idle());
  EXPECT_LT(server.loop().status().generated_tokens, 8000U);
}

TEST(HttpDisconnect, a_client_that_waits_for_a_whole_answer_and_goes_is_cancelled) {
  TestServer server;
  server.executor.slow_down(std::chrono::milliseconds(1));
  HttpClient client(server.port());
  client.send(HttpClient::text("/v1/completions", completion("x", 8000)));
  ASSERT_TRUE(server->eventually(is_running));
  client.close();
  ASSERT_TRUE(server->eventually_idle());
  EXPECT_LT(server.loop().status().generated_tokens, 8000U);
}

/// What a client reads that closes its sending side after a request, while that runs.
std::string read_after_half_close(TestServer& server, const std::string& request) {
  server.executor.allow_only(1);
  HttpClient client(server.port());
  client.send(request);
  EXPECT_TRUE(server->eventually(is_running));
  client.close_sending_side();
  server.executor.release();
  return client.read_to_end();
}

TEST(HttpDisconnect, a_client_that_closes_only_its_sending_side_is_answered) {
  TestServer server;
  const std::string answer =
      read_after_half_close(server, HttpClient::text("/v1/completions", completion("half", 20)));
  EXPECT_THAT(answer, HasSubstr(expected_text("half", 20)));
  EXPECT_TRUE(server->eventually_idle());
}

TEST(HttpDisconnect, a_stream_goes_on_to_a_client_that_closes_only_its_sending_side) {
  TestServer server;
  const std::string answer =
      read_after_half_close(server, HttpClient::text("/v1/completions", stream("half", 20)));
  EXPECT_THAT(answer, HasSubstr("[DONE]"));
}

TEST(HttpDisconnect, an_http_1_0_client_that_closes_only_its_sending_side_is_answered) {
  TestServer server;
  const std::string body = completion("half", 20).dump();
  const std::string answer = read_after_half_close(
      server, "POST /v1/completions HTTP/1.0\r\nContent-Length: " + std::to_string(body.size()) +
                  "\r\n\r\n" + body);
  EXPECT_THAT(answer, StartsWith("HTTP/1.0 200")) << "no interim answer: 1.0 has none";
  EXPECT_THAT(answer, HasSubstr(expected_text("half", 20)));
}

TEST(HttpDisconnect, what_was_sent_before_the_half_close_is_answered_too) {
  TestServer server;
  const std::string answer =
      read_after_half_close(server, HttpClient::text("/v1/completions", completion("one", 3)) +
                                        HttpClient::text("/v1/completions", completion("two", 3)));
  EXPECT_THAT(answer, HasSubstr(expected_text("one", 3)));
  EXPECT_THAT(answer, HasSubstr(expected_text("two", 3)));
}

TEST(HttpDisconnect, a_request_that_still_waits_in_the_queue_is_cancelled) {
  TestServer server({.scheduler = {.batch = {.max_batch_size = 1}}});
  server.executor.allow_only(1);
  HttpClient running(server.port());
  running.send(HttpClient::text("/v1/completions", completion("x", 3)));
  ASSERT_TRUE(server->eventually(is_running));
  HttpClient waiting(server.port());
  waiting.send(HttpClient::text("/v1/completions", completion("y", 8000)));
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.waiting == 1; }));
  waiting.close();
  server.executor.slow_down(std::chrono::milliseconds(1));  // time to notice before it runs out
  server.executor.release();
  EXPECT_EQ(running.read().status, 200U);
  ASSERT_TRUE(server->eventually_idle());
  EXPECT_LT(server.loop().status().generated_tokens, 8003U);
}

TEST(HttpDisconnect, other_clients_are_not_disturbed) {
  TestServer server;
  server.executor.slow_down(std::chrono::microseconds(200));
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<HttpClient>(server.port()));
    clients.back()->send(
        HttpClient::text("/v1/completions", completion("p" + std::to_string(i), 100)));
  }
  for (std::size_t i = 0; i < 8; i += 2) clients[i]->reset();
  for (std::size_t i = 1; i < 8; i += 2) {
    EXPECT_EQ(clients[i]->read().json()["choices"][0]["text"],
              expected_text("p" + std::to_string(i), 100));
  }
  EXPECT_TRUE(server->eventually_idle());
}

TEST(HttpDisconnect, connections_that_close_without_a_request_do_no_harm) {
  TestServer server;
  for (int i = 0; i < 20; ++i) {
    HttpClient silent(server.port());
    HttpClient half(server.port());
    half.send("POST /generate HTTP/1.1\r\nContent-Le");
    HttpClient rude(server.port());
    rude.send(HttpClient::text("GET", "/healthz", ""));
    rude.reset();
  }
  EXPECT_EQ(HttpClient(server.port()).get("/healthz").status, 200U);
}

}  // namespace
}  // namespace forge::test
