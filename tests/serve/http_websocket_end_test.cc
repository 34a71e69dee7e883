// How a WebSocket ends: what closes it, and what is left then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "serve/proof.h"
#include "serve/stream_kinds.h"
#include "serve/test_server.h"
#include "serve/websocket_client.h"

namespace forge::test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr const char* kStreamRoute = "/v1/completions";

/// Returns when the server has no connection but the one that asks.
void wait_until_alone(const ServerPlace& place) {
  HttpClient client(place);
  while (client.get("/forge/v1/health").json()["connections"] != 1) {
  }
}

using HttpWebSocketStreams = OverEachStream;

TEST_P(HttpWebSocketStreams, serves_many_at_a_time_and_is_closed_in_order) {
  TestServer server(options());
  WebSocketClient client(server.place());
  constexpr int kRequests = 40;
  for (int i = 0; i < kRequests; ++i) {
    client.ask(std::to_string(i), kStreamRoute, stream(std::to_string(i), 20));
  }
  std::vector<std::string> texts(kRequests);
  for (int left = kRequests; left > 0;) {
    const json message = client.next();
    const auto i = static_cast<std::size_t>(std::stoi(message["id"].get<std::string>()));
    if (message.contains("chunk")) {
      texts[i] += message["chunk"]["choices"][0]["text"];
    } else {
      EXPECT_EQ(message["done"], true);
      --left;
    }
  }
  for (int i = 0; i < kRequests; ++i) {
    EXPECT_EQ(texts[static_cast<std::size_t>(i)], expected_text(std::to_string(i), 20));
  }
  client.ping();
  expect_served(client);
  EXPECT_EQ(client.pongs(), 1);
  client.close();
  EXPECT_TRUE(client.bytes().closed_by_server());
}

TEST_P(HttpWebSocketStreams, takes_messages_in_any_frames_and_of_any_length) {
  TestServer server(options());
  WebSocketClient client(server.place());
  const std::string text =
      json({{"id", "a"}, {"route", kStreamRoute}, {"body", completion(std::string(5000, 'x'), 1)}})
          .dump();
  for (const std::size_t frame :
       {std::size_t{1}, std::size_t{125}, std::size_t{126}, std::size_t{4096}, text.size()}) {
    client.say_in_frames(text, frame);
    EXPECT_EQ(client.next()["answer"]["choices"][0]["text"],
              expected_text(std::string(5000, 'x'), 1))
        << frame;
  }
}

TEST_P(HttpWebSocketStreams, what_runs_ends_with_a_client_that_goes_away) {
  for (const bool in_order : {false, true}) {
    TestServer server(options());
    server.executor.allow_only(0);
    WebSocketClient client(server.place());
    for (int i = 0; i < 5; ++i) {
      client.ask(std::to_string(i), kStreamRoute,
                 i % 2 == 0 ? stream("x", 2000) : completion("y", 2000));
    }
    ASSERT_TRUE(server->eventually(
        [](const engine::EngineStatus& s) { return s.running + s.waiting == 5; }));
    in_order ? client.close() : client.bytes().reset();
    wait_until_alone(server.place());
    server.executor.release();
    EXPECT_TRUE(server->eventually_idle());
    EXPECT_LT(server.loop().status().generated_tokens, 100U);
  }
}

INSTANTIATE_TEST_SUITE_P(All, HttpWebSocketStreams, ::testing::ValuesIn(kStreamKinds),
                         [](const auto& tested) { return tested.param.name; });

TEST(HttpWebSocketEnd, a_message_over_the_limit_closes_it_and_ends_what_runs) {
  TestServer server({.http = {.body_limit_bytes = 500}});
  server.executor.allow_only(0);
  WebSocketClient client(server.place());
  client.say_text(std::string(500, ' '));
  EXPECT_EQ(client.next()["status"], 400) << "as long as one may be";
  client.ask("a", kStreamRoute, stream("x", 2000));
  ASSERT_TRUE(
      server->eventually([](const engine::EngineStatus& s) { return s.running + s.waiting == 1; }));
  client.say_in_frames(std::string(100'000, ' '), 100);
  EXPECT_EQ(client.close_code(), 1009);
  EXPECT_EQ(client.close_reason(), "a message may have 500 bytes");
  server.executor.release();
  EXPECT_TRUE(server->eventually_idle());
}

TEST(HttpWebSocketEnd, what_is_no_text_closes_it) {
  const TestServer server;
  WebSocketClient binary(server.place());
  binary.say_binary("{}");
  EXPECT_EQ(binary.close_code(), 1003);
  WebSocketClient not_utf8(server.place());
  not_utf8.say_text("\xff\xff");
  EXPECT_EQ(not_utf8.close_code(), 1007);
}

/// A message of the server's on the wire, if it is a close: its code.
int close_code_in(const std::string& frame) {
  if (frame.size() < 4 || frame[0] != '\x88') return 0;
  return static_cast<unsigned char>(frame[2]) << 8 | static_cast<unsigned char>(frame[3]);
}

TEST(HttpWebSocketEnd, what_breaks_the_protocol_closes_it) {
  const TestServer server;
  const std::vector<std::string> broken{
      std::string("\x81\x02{}", 4),          // not masked
      std::string("\xf1\x82\0\0\0\0{}", 8),  // reserved bits
      std::string("\x83\x82\0\0\0\0{}", 8),  // a kind of frame that there is not
      std::string("\x80\x82\0\0\0\0{}", 8),  // goes on with nothing
      std::string("\x09\x80\0\0\0\0", 6),    // half a ping
  };
  for (const std::string& bytes : broken) {
    HttpClient client(server.place());
    client.send(HttpClient::text("GET", kStreamPath, "", WebSocketClient::upgrade()));
    EXPECT_EQ(client.read_header().status, 101U);
    client.send(bytes);
    EXPECT_EQ(close_code_in(client.read_to_end()), 1002) << ::testing::PrintToString(bytes);
  }
}

TEST(HttpWebSocketEnd, any_bytes_end_it_and_leave_the_server_as_it_was) {
  const int rounds = proof_seed() ? 20'000 : 300;
  std::mt19937 random(static_cast<std::uint32_t>(proof_seed().value_or(20261129)));
  const auto below = [&random](std::uint32_t end) { return random() % end; };
  TestServer server({.http = {.body_limit_bytes = 4096}});
  const std::string good =
      json({{"id", "a"}, {"route", kStreamRoute}, {"body", stream("x", 50)}}).dump();
  const std::string frame = std::string("\x81\xfe", 2) + static_cast<char>(good.size() >> 8) +
                            static_cast<char>(good.size() & 0xff) + std::string(4, '\0') + good;
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = frame + frame;
    for (std::uint32_t changes = below(4); changes > 0; --changes) {
      bytes[below(static_cast<std::uint32_t>(bytes.size()))] = static_cast<char>(below(256));
    }
    bytes.resize(below(static_cast<std::uint32_t>(bytes.size())) + 1);
    HttpClient client(server.place());
    client.send(HttpClient::text("GET", kStreamPath, "", WebSocketClient::upgrade()) + bytes);
    EXPECT_EQ(client.read_header().status, 101U) << "round " << round;
    if (below(2) == 0) client.reset();
  }
  EXPECT_TRUE(server->eventually_idle());
  WebSocketClient client(server.place());
  expect_served(client);
  std::cout << "[  CASES   ] " << rounds << '\n';
}

TEST(HttpWebSocketEnd, too_many_requests_at_a_time_close_it) {
  TestServer server({.queue_limit = 1000});
  server.executor.allow_only(0);
  WebSocketClient client(server.place());
  for (int i = 0; i < 257; ++i) client.ask(std::to_string(i), kStreamRoute, completion("x", 5));
  EXPECT_EQ(client.close_code(), 1013);
  EXPECT_EQ(client.close_reason(), "256 requests are under way, as many as may be");
  server.executor.release();
  EXPECT_TRUE(server->eventually_idle());
}

TEST(HttpWebSocketEnd, silence_with_nothing_under_way_closes_it) {
  TestServer server({.http = {.idle_timeout = milliseconds(200)}});
  server.executor.allow_only(0);
  WebSocketClient silent(server.place());
  WebSocketClient waits(server.place());
  waits.ask("a", kStreamRoute, completion("x", 3));
  EXPECT_EQ(silent.close_code(), 1013);
  EXPECT_EQ(silent.close_reason(), "nothing was under way for 200 ms");
  WebSocketClient later(server.place());
  EXPECT_EQ(later.close_code(), 1013) << "by when the other has waited for longer than that";
  server.executor.release();
  EXPECT_TRUE(waits.next().contains("answer"));
  EXPECT_EQ(waits.close_code(), 1013);
}

TEST(HttpWebSocketEnd, gives_way_to_others_when_nothing_is_under_way) {
  TestServer server({.http = {.max_connections = 1}});
  WebSocketClient client(server.place());
  expect_served(client);
  HttpClient other(server.place());
  EXPECT_EQ(other.get("/v1/models").status, 200U);
  EXPECT_EQ(client.close_code(), 0) << "dropped";
}

TEST(HttpWebSocketEnd, keeps_its_place_while_something_is_under_way) {
  TestServer server({.http = {.max_connections = 1}});
  server.executor.allow_only(0);
  WebSocketClient busy(server.place());
  busy.ask("a", kStreamRoute, completion("x", 3));
  ASSERT_TRUE(
      server->eventually([](const engine::EngineStatus& s) { return s.running + s.waiting == 1; }));
  HttpClient newcomer(server.place());
  EXPECT_EQ(newcomer.get("/v1/models").status, 503U);
  server.executor.release();
  EXPECT_TRUE(busy.next().contains("answer"));
}

/// A server whose every chunk is long, and what asks for many of them.
TestServerOptions wordy(serve::HttpOptions http) {
  return {.scheduler = {.cache = {.num_blocks = 4096, .block_size = 16}},
          .http = http,
          .model_id = std::string(2000, 'm')};
}
json many_words() {
  json body = stream("lazy", 60'000);
  body["model"] = std::string(2000, 'm');
  return body;
}

TEST(HttpWebSocketEnd, a_client_that_does_not_read_is_told_so_once_it_does) {
  TestServer server(wordy({.stream_backlog_tokens = 100}));
  server.executor.slow_down(std::chrono::microseconds(250));
  WebSocketClient client(server.place(), {}, 4096);
  client.ask("a", kStreamRoute, many_words());
  ASSERT_TRUE(server->eventually([](const auto& s) { return s.generated_tokens > 0; }));
  ASSERT_TRUE(server->eventually_idle()) << "it was ended";
  EXPECT_LT(server.loop().status().generated_tokens, 60'000U);
  EXPECT_EQ(client.close_code(), 1013);
  EXPECT_EQ(client.close_reason(), "what is sent is not read fast enough");
}

TEST(HttpWebSocketEnd, a_client_that_never_reads_is_dropped) {
  TestServer server(
      wordy({.write_timeout = milliseconds(300), .stream_backlog_tokens = std::size_t{100'000}}));
  server.executor.slow_down(std::chrono::microseconds(250));
  WebSocketClient client(server.place(), {}, 4096);
  client.ask("a", kStreamRoute, many_words());
  ASSERT_TRUE(server->eventually([](const auto& s) { return s.generated_tokens > 0; }));
  EXPECT_TRUE(server->eventually_idle());
  EXPECT_LT(server.loop().status().generated_tokens, 60'000U);
  EXPECT_EQ(client.close_code(), 0);
}

TEST(HttpWebSocketEnd, a_client_that_sends_and_does_not_read_is_not_read_from) {
  TestServer server({.http = {.write_timeout = milliseconds(300)}});
  WebSocketClient client(server.place(), {}, 4096);
  const std::string nonsense(1000, 'x');
  EXPECT_ANY_THROW({
    for (int i = 0; i < 1'000'000; ++i) client.say_text(nonsense);
  }) << "all of it would be a gigabyte of errors";
}

TEST(HttpWebSocketEnd, a_shutdown_answers_what_runs_and_refuses_the_rest) {
  TestServer server;
  server.executor.allow_only(0);
  WebSocketClient idle(server.place());
  WebSocketClient client(server.place());
  client.ask("a", kStreamRoute, completion("x", 3));
  ASSERT_TRUE(
      server->eventually([](const engine::EngineStatus& s) { return s.running + s.waiting == 1; }));
  server->shutdown();
  EXPECT_EQ(idle.close_code(), 1001);
  EXPECT_EQ(idle.close_reason(), "the server is shutting down");
  client.ask("late", kStreamRoute, completion("x", 3));
  const json refused = client.next();
  EXPECT_EQ(refused["id"], "late");
  EXPECT_EQ(refused["status"], 503);
  EXPECT_EQ(refused["retry_after"], 1);
  EXPECT_EQ(refused["error"]["code"], "shutting_down");
  EXPECT_EQ(ask_to_upgrade(server.place(), WebSocketClient::upgrade()).status, 503U);
  server.executor.release();
  EXPECT_EQ(client.next()["answer"]["choices"][0]["text"], expected_text("x", 3));
  EXPECT_EQ(client.close_code(), 1001);
  server->wait_for_end();
}

TEST(HttpWebSocketEnd, what_is_not_done_in_time_at_a_shutdown_ends_with_the_text_so_far) {
  TestServer server({.http = {.shutdown_timeout = milliseconds(1)}});
  server.executor.slow_down(milliseconds(1));
  WebSocketClient client(server.place());
  client.ask("a", kStreamRoute, completion("x", 8000));
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.running == 1; }));
  server->shutdown();
  EXPECT_EQ(client.next()["answer"]["choices"][0]["finish_reason"], "deadline");
  EXPECT_EQ(client.close_code(), 1001);
  server->wait_for_end();
}

}  // namespace
}  // namespace forge::test
