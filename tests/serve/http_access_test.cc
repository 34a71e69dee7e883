// Who may ask what: with keys, and without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <tuple>
#include <vector>

#include "forge/serve/http_server.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using Headers = HttpClient::Headers;

const serve::NewKey& alice() {
  static const serve::NewKey key = serve::make_key("alice:client").value();
  return key;
}
const serve::NewKey& watch() {
  static const serve::NewKey key = serve::make_key("watch:operator").value();
  return key;
}
serve::ApiKeys keys_of(const std::string& lines) { return serve::ApiKeys::parse(lines).value(); }

TestServerOptions with_keys() { return {.keys = keys_of(alice().line + "\n" + watch().line)}; }

Headers bearer(const std::string& key) { return {{"Authorization", "Bearer " + key}}; }

HttpClient::Response ask(const TestServer& server, std::string_view method, std::string_view path,
                         const Headers& headers) {
  HttpClient client(server.port());
  client.send(HttpClient::text(method, path, method == "POST" ? "{}" : "", headers));
  return client.read();
}

/// The rows of the page of routes: method, path, audience.
std::vector<std::tuple<std::string, std::string, std::string>> rows_of_page() {
  const std::string page = serve::routes_page();
  const std::regex row(R"(\| (GET|POST|DELETE) \| `([^`]*)` \| \w+ \| (\w+) \|)");
  std::vector<std::tuple<std::string, std::string, std::string>> rows;
  for (std::sregex_iterator match(page.begin(), page.end(), row), end; match != end; ++match) {
    rows.emplace_back((*match)[1], std::regex_replace((*match)[2].str(), std::regex("ID$"), "7"),
                      (*match)[3]);
  }
  return rows;
}

TEST(HttpAccess, each_route_of_the_page_is_for_whom_the_page_says) {
  const TestServer server(with_keys());
  int operators = 0;
  for (const auto& [method, path, audience] : rows_of_page()) {
    const auto status = [&, &method = method, &path = path](const Headers& headers) {
      return ask(server, method, path, headers).status;
    };
    const bool open = audience == "everyone";
    EXPECT_EQ(status({}) != 401, open) << path;
    EXPECT_EQ(status(bearer("fk-0")) != 401, open) << path;
    EXPECT_EQ(status(bearer(alice().key)) == 403, audience == "operators") << path;
    EXPECT_NE(status(bearer(watch().key)), 403U) << path;
    EXPECT_NE(status(bearer(watch().key)), 401U) << path;
    operators += audience == "operators" ? 1 : 0;
  }
  EXPECT_EQ(operators, 6);
}

TEST(HttpAccess, what_there_is_not_is_told_to_who_has_a_key_alone) {
  const TestServer server(with_keys());
  EXPECT_EQ(ask(server, "GET", "/nowhere", {}).status, 401U);
  EXPECT_EQ(ask(server, "PUT", "/v1/models", {}).status, 401U);
  EXPECT_EQ(ask(server, "GET", "/nowhere", bearer(alice().key)).status, 404U);
  EXPECT_EQ(ask(server, "PUT", "/v1/models", bearer(alice().key)).status, 405U);
}

TEST(HttpAccess, a_stranger_learns_how_a_key_is_sent_and_nothing_else) {
  const TestServer server(with_keys());
  const auto none = ask(server, "GET", "/v1/models", {});
  EXPECT_EQ(none.status, 401U);
  EXPECT_EQ(none.header("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(none.json(), json({{"error",
                                {{"message", "a key is needed: send Authorization: Bearer KEY"},
                                 {"type", "authentication_error"},
                                 {"param", nullptr},
                                 {"code", "invalid_api_key"}}}}));
  const auto wrong = ask(server, "GET", "/v1/models", bearer("fk-0"));
  EXPECT_EQ(wrong.json()["error"]["message"], "this key is not known here");
}

TEST(HttpAccess, a_key_is_sent_once_as_bearer_in_any_case) {
  const TestServer server(with_keys());
  const std::string key = alice().key;
  const auto status = [&](const Headers& headers) {
    return ask(server, "GET", "/v1/models", headers).status;
  };
  EXPECT_EQ(status({{"authorization", "bearer  " + key}}), 200U);
  EXPECT_EQ(status({{"Authorization", key}}), 401U);
  EXPECT_EQ(status({{"Authorization", "Basic " + key}}), 401U);
  EXPECT_EQ(status({{"Authorization", "Bearer"}}), 401U);
  EXPECT_EQ(status({{"Authorization", "Bearer " + key}, {"Authorization", "Bearer " + key}}), 401U);
}

TEST(HttpAccess, is_refused_before_the_body_is_read) {
  const TestServer server(with_keys());
  HttpClient client(server.port());
  client.send(
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: 1000\r\n\r\n");
  EXPECT_EQ(client.read().status, 401U);
}

TEST(HttpAccess, keys_that_change_end_what_runs_for_those_that_are_gone) {
  TestServer server(with_keys());
  server.executor.allow_only(0);
  HttpClient of_alice(server.port());
  HttpClient of_watch(server.port());
  const std::string body = stream("p", 100).dump();
  of_alice.send(HttpClient::text("POST", "/v1/completions", body, bearer(alice().key)));
  of_watch.send(HttpClient::text("POST", "/v1/completions", body, bearer(watch().key)));
  ASSERT_TRUE(
      server->eventually([](const engine::EngineStatus& s) { return s.running + s.waiting == 2; }));
  server.executor.allow_only(2);
  for (HttpClient* client : {&of_alice, &of_watch}) {
    EXPECT_EQ(client->read_header().status, 200U);
    EXPECT_TRUE(client->next_event());
  }
  server->set_keys(keys_of(watch().line));
  of_alice.read_to_end();
  server.executor.release();
  EXPECT_EQ(of_watch.read_events().back(), "[DONE]");
  EXPECT_TRUE(server->eventually_idle());
  EXPECT_EQ(ask(server, "GET", "/v1/models", bearer(alice().key)).status, 401U);
}

TEST(HttpAccess, without_keys_clients_are_asked_for_nothing) {
  const TestServer server;
  EXPECT_EQ(ask(server, "GET", "/v1/models", {}).status, 200U);
  EXPECT_EQ(ask(server, "GET", "/v1/models", bearer("any")).status, 200U);
}

TEST(HttpAccess, without_keys_operators_ask_from_this_machine_by_a_name_of_it) {
  const TestServer server;
  const auto asked_as = [&](const std::string& host, const std::string& more = "") {
    HttpClient client(server.port());
    client.send("GET /forge/v1/cache/stats HTTP/1.1\r\nHost: " + host + "\r\n" + more + "\r\n");
    return client.read();
  };
  for (const char* host :
       {"localhost", "LOCALHOST:8080", "127.0.0.1:1", "127.8.9.1", "[::1]:8080"}) {
    EXPECT_EQ(asked_as(host).status, 200U) << host;
  }
  for (const char* host : {"forge.example:8080", "localhost.example", "10.0.0.1", "[::2]:8080",
                           "127.0.0.1.example", "", "["}) {
    const auto response = asked_as(host);
    EXPECT_EQ(response.status, 403U) << host;
    EXPECT_THAT(response.json()["error"]["message"], HasSubstr("from this machine, as localhost"));
  }
  EXPECT_EQ(asked_as("localhost:8080", "Origin: http://localhost:8080\r\n").status, 200U);
  for (const char* origin : {"http://localhost:3000", "https://forge.example", "null"}) {
    const auto response = asked_as("localhost:8080", std::string("Origin: ") + origin + "\r\n");
    EXPECT_EQ(response.status, 403U) << origin;
    EXPECT_THAT(response.json()["error"]["message"], HasSubstr("not through a page from"));
  }
  EXPECT_EQ(asked_as("localhost", "X-Forwarded-For: 10.0.0.1\r\n").status, 403U);
  EXPECT_EQ(asked_as("localhost", "Forwarded: for=10.0.0.1\r\n").status, 403U);
}

}  // namespace
}  // namespace forge::test
