// What HTTP asks of a server beside reading and answering: names of requests, odd spellings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "serve/test_server.h"

namespace forge::test {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(HttpDetails, every_answer_names_its_request) {
  TestServer server;
  HttpClient client(server.port());
  std::set<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.insert(client.get("/healthz").header("X-Request-Id"));
  ids.insert(client.get("/nowhere").header("X-Request-Id"));
  client.send("no HTTP\r\n\r\n");
  ids.insert(client.read().header("X-Request-Id"));
  EXPECT_EQ(ids.size(), 5U) << "no two are the same";
  for (const std::string& id : ids) EXPECT_THAT(id, MatchesRegex("[0-9a-f]{32}"));
}

TEST(HttpDetails, the_name_that_a_client_gives_comes_back) {
  TestServer server;
  HttpClient client(server.port());
  const auto echoed = [&client](const std::string& id, const std::string& path = "/healthz") {
    client.send(HttpClient::text("GET", path, "", {{"x-request-id", id}}));
    return client.read().header("X-Request-Id");
  };
  EXPECT_EQ(echoed("trace/42"), "trace/42");
  EXPECT_EQ(echoed("a", "/nowhere"), "a") << "of a refusal, too";
  EXPECT_EQ(echoed(std::string(128, 'x')), std::string(128, 'x'));
  EXPECT_THAT(echoed(std::string(129, 'x')), MatchesRegex("[0-9a-f]{32}")) << "too long";
  EXPECT_THAT(echoed("two words"), MatchesRegex("[0-9a-f]{32}"));
  client.send(
      HttpClient::text("GET", "/healthz", "", {{"X-Request-Id", "1"}, {"X-Request-Id", "2"}}));
  EXPECT_EQ(client.read().header("X-Request-Id"), "2") << "the last one counts";
}

TEST(HttpDetails, a_stream_and_a_refused_header_name_their_request) {
  TestServer server;
  HttpClient client(server.port());
  client.send(HttpClient::text("POST", "/v1/completions", stream("x", 2).dump(),
                               {{"X-Request-Id", "streamed"}}));
  EXPECT_EQ(client.read_header().header("X-Request-Id"), "streamed");
  client.read_events();
  client.send("GET /healthz HTTP/1.1\r\nX-Request-Id: hostless\r\n\r\n");
  EXPECT_EQ(client.read().header("X-Request-Id"), "hostless");
}

TEST(HttpDetails, ids_of_answers_have_one_length_and_are_never_given_twice) {
  TestServer server;
  HttpClient client(server.port());
  std::set<std::string> ids;
  for (int i = 0; i < 20; ++i) {
    ids.insert(client.post("/v1/completions", completion("x", 1)).json()["id"]);
  }
  EXPECT_EQ(ids.size(), 20U);
  for (const std::string& id : ids) EXPECT_THAT(id, MatchesRegex("cmpl-[0-9a-f]{32}"));
}

TEST(HttpDetails, empty_lines_before_a_request_are_passed_over) {
  TestServer server;
  HttpClient client(server.port());
  client.send("\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.read().status, 200U);
  for (const char* bytes : {"\r", "\n", "\r\n", "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"}) {
    client.send(bytes);
  }
  EXPECT_EQ(client.read().status, 200U);
}

TEST(HttpDetails, targets_with_a_scheme_are_found) {
  TestServer server;
  HttpClient client(server.port());
  for (const char* target : {"http://h/healthz", "HTTP://h/healthz", "https://h:1/healthz?a=b"}) {
    EXPECT_EQ(client.get(target).status, 200U) << target;
  }
  EXPECT_EQ(client.get("http://h").status, 200U) << "the page, as of /";
}

TEST(HttpDetails, the_name_of_a_model_may_need_escapes) {
  TestServer server({.model_id = "my m\xc3\xb6"
                                 "del%"});
  HttpClient client(server.port());
  EXPECT_EQ(client.get("/v1/models/my%20m%C3%B6del%25").status, 200U);
  EXPECT_EQ(client.get("/v1/models/my%20m%c3%b6del%").status, 200U) << "no escape: itself";
  EXPECT_EQ(client.get("/v1/models/my%2").status, 404U);
}

TEST(HttpDetails, options_of_the_whole_server_are_told) {
  TestServer server;
  HttpClient client(server.port());
  client.send("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto response = client.read();
  EXPECT_EQ(response.status, 200U);
  EXPECT_EQ(response.header("Allow"), "GET, HEAD, POST, DELETE, OPTIONS");
}

TEST(HttpDetails, a_method_that_does_not_exist_is_501) {
  TestServer server;
  HttpClient client(server.port());
  client.send("get /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto response = client.read();
  EXPECT_EQ(response.status, 501U);
  EXPECT_THAT(response.body, HasSubstr("'get'"));
  EXPECT_EQ(client.get("/healthz").status, 200U) << "and the connection goes on";
}

TEST(HttpDetails, messages_quote_little_of_what_is_long) {
  TestServer server;
  HttpClient client(server.port());
  const std::string digits(100'000, '1');
  for (const std::string& body :
       {"{\"prompt\": \"x\", \"max_tokens\": " + digits + "}", "{\"prompt\": " + digits + "x}",
        "{\"" + digits + "\": 1}", "{\"model\": \"" + digits + "\", \"prompt\": \"x\"}",
        "{\"" + digits + "\": 1, \"" + digits + "\": 2}"}) {
    for (const char* path : {"/generate", "/v1/completions"}) {
      client.send(HttpClient::text("POST", path, body));
      const auto response = client.read();
      EXPECT_GE(response.status, 400U);
      EXPECT_LT(response.body.size(), 1000U) << response.body.substr(0, 300);
    }
  }
  EXPECT_LT(client.get("/" + std::string(10'000, 'p')).body.size(), 1000U);
}

}  // namespace
}  // namespace forge::test
