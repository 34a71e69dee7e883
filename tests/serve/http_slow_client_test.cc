// Clients that are slow, on purpose or not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

/// Sends `bytes` one by one, 20 ms apart, until the server has had enough.
void dribble(HttpClient& client, std::string_view bytes) {
  try {
    for (const char byte : bytes) {
      client.send({&byte, 1});
      std::this_thread::sleep_for(milliseconds(20));
    }
  } catch (const std::runtime_error&) {
    return;  // closed, which is what the test is about
  }
}

TestServerOptions impatient() {
  return {.http = {.read_timeout = milliseconds(200), .linger_timeout = milliseconds(1000)}};
}

TEST(HttpSlowClient, a_header_that_dribbles_in_is_408) {
  TestServer server(
      {.http = {.header_timeout = milliseconds(200), .linger_timeout = milliseconds(1000)}});
  HttpClient client(server.port());
  dribble(client, "GET /healthz HTT");
  const auto response = client.read();
  EXPECT_EQ(response.status, 408U);
  EXPECT_THAT(response.json()["error"]["message"].get<std::string>(),
              HasSubstr("the header did not arrive within 200 ms"));
  EXPECT_TRUE(client.closed_by_server());
}

TEST(HttpSlowClient, a_body_that_dribbles_in_is_408) {
  TestServer server(impatient());
  HttpClient client(server.port());
  client.send("POST /generate HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\n");
  dribble(client, "{\"prompt\": \"hello");
  EXPECT_EQ(client.read().status, 408U);
}

TEST(HttpSlowClient, a_connection_without_a_request_is_closed_after_a_while) {
  TestServer server({.http = {.idle_timeout = milliseconds(100)}});
  HttpClient silent(server.port());
  EXPECT_TRUE(silent.closed_by_server());
  HttpClient once(server.port());
  EXPECT_EQ(once.get("/healthz").status, 200U);
  EXPECT_TRUE(once.closed_by_server());
}

TEST(HttpSlowClient, a_wait_for_the_model_is_not_the_clients_fault) {
  TestServer server(impatient());
  server.executor.allow_only(0);
  HttpClient client(server.port());
  client.send(HttpClient::text("/v1/completions", completion("x", 3)));
  std::this_thread::sleep_for(milliseconds(500));
  server.executor.release();
  EXPECT_EQ(client.read().status, 200U);
}

/// A stream that no socket buffer holds: every chunk names a model of a long name.
constexpr int kLongAnswer = 50'000;

TestServerOptions talkative(serve::HttpOptions http) {
  return {.scheduler = {.cache = {.num_blocks = 4096, .block_size = 16}},
          .http = http,
          .model_id = std::string(2000, 'm')};
}

/// Starts a stream and does not read it: true if its request then ends before its time.
bool is_dropped(TestServer& server) {
  // What fills the buffers takes a second, all of it a quarter of a minute.
  server.executor.slow_down(std::chrono::microseconds(250));
  HttpClient lazy(server.port(), 4096);
  json body = stream("lazy", kLongAnswer);
  body["model"] = std::string(2000, 'm');
  lazy.send(HttpClient::text("/v1/completions", body));
  if (!server->eventually([](const engine::EngineStatus& s) { return s.running == 1; }))
    return false;

  HttpClient busy(server.port());
  for (int i = 0; i < 5; ++i) {
    const auto answer = busy.post("/generate", {{"prompt", "busy"}, {"max_tokens", 10}});
    EXPECT_EQ(answer.json()["text"], expected_text("busy", 10)) << "the others are served";
  }
  return server->eventually_idle() &&
         server.loop().status().generated_tokens < std::uint64_t{kLongAnswer};
}

TEST(HttpSlowClient, a_stream_that_is_not_read_is_dropped_when_its_backlog_is_full) {
  TestServer server(talkative({.stream_backlog_tokens = 100}));
  EXPECT_TRUE(is_dropped(server));
}

TEST(HttpSlowClient, a_stream_that_is_not_read_is_dropped_when_a_write_takes_too_long) {
  TestServer server(talkative(
      {.write_timeout = milliseconds(300), .stream_backlog_tokens = std::size_t{kLongAnswer}}));
  EXPECT_TRUE(is_dropped(server));
}

}  // namespace
}  // namespace forge::test
