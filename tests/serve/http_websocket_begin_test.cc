// How a WebSocket begins: who may open one, and with which key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "serve/test_server.h"
#include "serve/websocket_client.h"

namespace forge::test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using Headers = HttpClient::Headers;

TEST(HttpWebSocketBegin, what_is_no_upgrade_is_told_so) {
  const TestServer server;
  HttpClient client(server.place());
  const auto plain = client.get(kStreamPath);
  EXPECT_EQ(plain.status, 426U);
  EXPECT_EQ(plain.header("Upgrade"), "websocket");
  EXPECT_EQ(plain.header("Connection"), "upgrade");
  EXPECT_EQ(client.get("/v1/models").status, 200U) << "the connection goes on";
  const auto without = [&](std::string_view name, const std::string& instead) {
    Headers headers = WebSocketClient::upgrade();
    for (auto& [field, value] : headers) {
      if (field == name) value = instead;
    }
    return ask_to_upgrade(server.place(), headers);
  };
  EXPECT_EQ(without("Upgrade", "h2c").status, 426U);
  EXPECT_EQ(without("Connection", "close").status, 426U);
  EXPECT_EQ(without("Sec-WebSocket-Version", "8").header("Sec-WebSocket-Version"), "13");
  EXPECT_EQ(without("Sec-WebSocket-Key", "short").status, 400U);
  const auto accepted = ask_to_upgrade(server.place(), WebSocketClient::upgrade());
  EXPECT_EQ(accepted.status, 101U);
  EXPECT_EQ(accepted.header("Sec-WebSocket-Accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
      << "the example of RFC 6455, section 1.3";
  EXPECT_FALSE(accepted.header("X-Request-Id").empty());
}

TEST(HttpWebSocketBegin, nothing_is_compressed) {
  const TestServer server;
  const Headers headers =
      WebSocketClient::upgrade({{"Sec-WebSocket-Extensions", "permessage-deflate"}});
  EXPECT_EQ(ask_to_upgrade(server.place(), headers).header("Sec-WebSocket-Extensions"), "");
}

TEST(HttpWebSocketBegin, a_message_may_come_with_the_upgrade) {
  const TestServer server;
  HttpClient client(server.place());
  // "{}" in a masked frame, whose mask is zero.
  client.send(HttpClient::text("GET", kStreamPath, "", WebSocketClient::upgrade()) +
              std::string("\x81\x82\0\0\0\0{}", 8));
  std::string received;
  while (received.find("\"status\":400") == std::string::npos) {
    const std::string more = client.receive_some();
    ASSERT_FALSE(more.empty());
    received += more;
  }
}

TEST(HttpWebSocketBegin, is_not_for_pages_of_other_sites_unless_cors_allows_them) {
  serve::CorsOrigins origins;
  ASSERT_TRUE(origins.add("https://forge.example"));
  const serve::NewKey key = serve::make_key("alice:client").value();
  const TestServer open({.http = {.cors_origins = origins}});
  const TestServer locked(
      {.http = {.cors_origins = origins}, .keys = serve::ApiKeys::parse(key.line).value()});
  for (const TestServer* server : {&open, &locked}) {
    const auto status = [server](const std::string& origin) {
      return ask_to_upgrade(server->place(), WebSocketClient::upgrade({{"Origin", origin}})).status;
    };
    EXPECT_EQ(status("http://localhost"), 101U) << "this server's own page";
    EXPECT_EQ(status("https://forge.example"), 101U);
    for (const char* origin : {"http://localhost:3000", "https://evil.example", "null"}) {
      EXPECT_EQ(status(origin), 403U) << origin;
    }
  }
}

TEST(HttpWebSocketBegin, is_not_for_a_name_that_was_made_to_lead_here) {
  const serve::NewKey key = serve::make_key("alice:client").value();
  const TestServer open;
  const TestServer locked({.keys = serve::ApiKeys::parse(key.line).value()});
  const auto status = [](const TestServer& server, const std::string& host) {
    HttpClient client(server.place());
    std::string text = "GET " + std::string(kStreamPath) + " HTTP/1.1\r\nHost: " + host +
                       "\r\nOrigin: http://" + host + "\r\n";
    for (const auto& [name, value] : WebSocketClient::upgrade())
      text += name + ": " + value + "\r\n";
    client.send(text + "\r\n");
    return client.read_header().status;
  };
  for (const char* host : {"localhost:8080", "127.0.0.1", "[::1]:80"}) {
    EXPECT_EQ(status(open, host), 101U) << host;
  }
  for (const char* host : {"forge.example:8080", "10.0.0.1", "localhost.example"}) {
    EXPECT_EQ(status(open, host), 403U) << host;
    EXPECT_EQ(status(locked, host), 101U) << "where a key is needed, its name may be any: " << host;
  }
}

TestServerOptions locked_by(const serve::NewKey& key, serve::HttpOptions http = {}) {
  return {.http = http, .keys = serve::ApiKeys::parse(key.line).value()};
}

TEST(HttpWebSocketKeys, come_in_the_header_or_as_the_first_message) {
  const serve::NewKey key = serve::make_key("alice:client").value();
  const TestServer server(locked_by(key));
  WebSocketClient by_header(server.place(), {{"Authorization", "Bearer " + key.key}});
  expect_served(by_header);
  by_header.say({{"key", key.key}});
  EXPECT_EQ(by_header.next()["error"]["code"], "late_key");
  WebSocketClient by_message(server.place());
  by_message.say({{"key", key.key}});
  expect_served(by_message);
  by_message.say_text(std::string(1025, ' '));
  EXPECT_EQ(by_message.next()["status"], 400) << "the short limit is that of strangers";
  EXPECT_EQ(
      ask_to_upgrade(server.place(), WebSocketClient::upgrade({{"Authorization", "Bearer fk-0"}}))
          .status,
      401U);
  HttpClient plain(server.place());
  EXPECT_EQ(plain.get(kStreamPath).status, 401U) << "no upgrade";
}

TEST(HttpWebSocketKeys, without_a_known_one_nothing_is_served) {
  const serve::NewKey key = serve::make_key("alice:client").value();
  const TestServer server(locked_by(key));
  const auto code_after = [&server](const std::string& text) {
    WebSocketClient client(server.place());
    client.say_text(text);
    return client.close_code();
  };
  EXPECT_EQ(code_after(R"({"key": "fk-0"})"), 1008);
  EXPECT_EQ(code_after("nonsense"), 1008);
  EXPECT_EQ(code_after(R"({"cancel": "a"})"), 1008);
  EXPECT_EQ(
      code_after(
          json({{"id", "a"}, {"route", "/v1/completions"}, {"body", completion("x", 1)}}).dump()),
      1008);
  EXPECT_EQ(code_after(std::string(1025, ' ')), 1009);
  WebSocketClient client(server.place());
  client.say({{"key", "fk-0"}});
  EXPECT_EQ(client.close_code(), 1008);
  EXPECT_EQ(client.close_reason(), "this key is not known here");
}

TEST(HttpWebSocketKeys, must_come_soon) {
  const serve::NewKey key = serve::make_key("alice:client").value();
  const TestServer server(locked_by(key, {.header_timeout = milliseconds(100)}));
  WebSocketClient client(server.place());
  EXPECT_EQ(client.close_code(), 1008);
  EXPECT_EQ(client.close_reason(), "no key came within 100 ms");
}

TEST(HttpWebSocketKeys, where_none_are_needed_one_is_let_pass) {
  const TestServer server;
  WebSocketClient client(server.place());
  client.say({{"key", "any"}});
  expect_served(client);
}

TEST(HttpWebSocketKeys, one_that_is_gone_ends_what_runs_for_it) {
  const serve::NewKey alice = serve::make_key("alice:client").value();
  const serve::NewKey bob = serve::make_key("bob:client").value();
  TestServer server({.keys = serve::ApiKeys::parse(alice.line + "\n" + bob.line).value()});
  server.executor.allow_only(0);
  WebSocketClient of_alice(server.place());
  of_alice.say({{"key", alice.key}});
  of_alice.ask("a", "/v1/completions", stream("x", 2000));
  WebSocketClient of_bob(server.place());
  of_bob.say({{"key", bob.key}});
  of_bob.ask("b", "/v1/completions", completion("x", 3));
  ASSERT_TRUE(
      server->eventually([](const engine::EngineStatus& s) { return s.running + s.waiting == 2; }));
  server->set_keys(serve::ApiKeys::parse(bob.line).value());
  EXPECT_EQ(of_alice.close_code(), 0) << "cut off";
  server.executor.release();
  EXPECT_TRUE(of_bob.next().contains("answer"));
  EXPECT_TRUE(server->eventually_idle());
}

}  // namespace
}  // namespace forge::test
