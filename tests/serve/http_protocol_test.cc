// HTTP itself: framing, limits, connections.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(HttpProtocol, a_connection_serves_many_requests) {
  TestServer server;
  HttpClient client(server.port());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(client.get("/healthz").status, 200U);
    EXPECT_EQ(client.post("/generate", {{"prompt", "x"}, {"max_tokens", 2}}).status, 200U);
    EXPECT_EQ(client.get("/nowhere").status, 404U);
  }
}

TEST(HttpProtocol, pipelined_requests_are_answered_in_order) {
  TestServer server;
  HttpClient client(server.port());
  client.send(HttpClient::text("/v1/completions", completion("one", 9)) +
              HttpClient::text("/v1/completions", stream("two", 3)) +
              HttpClient::text("GET", "/healthz", "") +
              HttpClient::text("/v1/completions", completion("three", 2)));
  EXPECT_EQ(client.read().json()["choices"][0]["text"], expected_text("one", 9));
  EXPECT_THAT(client.read().body, HasSubstr("[DONE]"));
  EXPECT_EQ(client.read().json()["status"], "ok");
  EXPECT_EQ(client.read().json()["choices"][0]["text"], expected_text("three", 2));
}

TEST(HttpProtocol, a_request_that_arrives_byte_by_byte_is_read) {
  TestServer server;
  HttpClient client(server.port());
  for (const char byte : HttpClient::text("/v1/completions", completion("x", 4))) {
    client.send({&byte, 1});
  }
  EXPECT_EQ(client.read().status, 200U);
}

TEST(HttpProtocol, a_chunked_body_is_read) {
  TestServer server;
  HttpClient client(server.port());
  client.send(
      "POST /generate HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n"
      "9\r\n{\"prompt\"\r\n6\r\n: \"x\"}\r\n0\r\n\r\n");
  EXPECT_EQ(client.read().status, 200U);
}

TEST(HttpProtocol, connection_close_is_honoured) {
  TestServer server;
  HttpClient client(server.port());
  client.send(HttpClient::text("GET", "/healthz", "", {{"Connection", "close"}}));
  const auto response = client.read();
  EXPECT_EQ(response.status, 200U);
  EXPECT_EQ(response.header("Connection"), "close");
  EXPECT_TRUE(client.closed_by_server());
}

TEST(HttpProtocol, http_1_0_closes_unless_it_asks_to_keep_alive) {
  TestServer server;
  HttpClient client(server.port());
  client.send("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(client.read().header("Connection"), "keep-alive");
  client.send("GET /healthz HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.read().status, 200U);
  EXPECT_TRUE(client.closed_by_server());
}

TEST(HttpProtocol, an_http_1_0_stream_ends_with_the_connection) {
  TestServer server;
  HttpClient client(server.port());
  const std::string body = stream("x", 3).dump();
  client.send("POST /v1/completions HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n\r\n" + body);
  const auto header = client.read_header();
  EXPECT_EQ(header.header("Transfer-Encoding"), "");
  EXPECT_EQ(client.read_events().size(), 4U);
}

TEST(HttpProtocol, expect_100_continue_is_met_before_the_body) {
  TestServer server;
  HttpClient client(server.port());
  const std::string body = completion("x", 4).dump();
  const std::string header =
      "POST /v1/completions HTTP/1.1\r\nHost: test\r\nExpect: 100-continue"
      "\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n";
  client.send(header);
  EXPECT_EQ(client.read().status, 100U);
  client.send(body);
  EXPECT_EQ(client.read().status, 200U);
}

TEST(HttpProtocol, expect_100_continue_is_refused_when_the_header_says_enough) {
  TestServer server;
  const auto status = [&server](const std::string& start, const std::string& length) {
    HttpClient client(server.port());
    client.send(start + " HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: " +
                length + "\r\n\r\n");
    return client.read().status;
  };
  EXPECT_EQ(status("POST /nowhere", "10"), 404U);
  EXPECT_EQ(status("PUT /generate", "10"), 405U);
  EXPECT_EQ(status("POST /generate", "99999999"), 413U);
}

TEST(HttpProtocol, another_expectation_is_417) {
  TestServer server;
  HttpClient client(server.port());
  client.send("POST /generate HTTP/1.1\r\nHost: test\r\nExpect: tea\r\nContent-Length: 1\r\n\r\n");
  EXPECT_EQ(client.read().status, 417U);
}

TEST(HttpProtocol, a_body_beyond_the_limit_is_413) {
  TestServer server({.http = {.body_limit_bytes = 1000}});
  const std::string fits = json{{"prompt", "x"}, {"max_tokens", 1}}.dump();
  HttpClient declared(server.port());
  declared.send(HttpClient::text("POST", "/generate", fits + std::string(1000 - fits.size(), ' ')));
  EXPECT_EQ(declared.read().status, 200U) << "exactly the limit";
  declared.send(HttpClient::text("POST", "/generate", std::string(1001, ' ')));
  const auto response = declared.read();
  EXPECT_EQ(response.status, 413U);
  EXPECT_THAT(response.json()["error"]["message"].get<std::string>(), HasSubstr("1000 bytes"));

  HttpClient chunked(server.port());
  chunked.send("POST /generate HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 5; ++i) chunked.send("100\r\n" + std::string(256, ' ') + "\r\n");
  EXPECT_EQ(chunked.read().status, 413U);
}

TEST(HttpProtocol, a_large_body_beyond_the_limit_still_gets_its_answer) {
  TestServer server({.http = {.body_limit_bytes = 1000}});
  HttpClient client(server.port());
  client.send(HttpClient::text("POST", "/generate", std::string(4'000'000, ' ')));
  EXPECT_EQ(client.read().status, 413U) << "it was sent whole before the answer was read";
}

TEST(HttpProtocol, a_header_beyond_the_limit_is_431) {
  TestServer server({.http = {.header_limit_bytes = 1000}});
  HttpClient client(server.port());
  client.send(HttpClient::text("GET", "/healthz", "", {{"X-Long", std::string(2000, 'x')}}));
  EXPECT_EQ(client.read().status, 431U);
  EXPECT_TRUE(client.closed_by_server());
}

struct BadRequest {
  const char* name;
  const char* bytes;
  unsigned status;
};
void PrintTo(const BadRequest& request, std::ostream* out) { *out << request.name; }

class BadRequests : public ::testing::TestWithParam<BadRequest> {};

TEST_P(BadRequests, are_answered_and_the_connection_closed) {
  TestServer server;
  HttpClient client(server.port());
  client.send(GetParam().bytes);
  const auto response = client.read();
  EXPECT_EQ(response.status, GetParam().status) << response.body;
  EXPECT_EQ(response.header("Connection"), "close");
  EXPECT_FALSE(response.json()["error"]["message"].get<std::string>().empty());
  EXPECT_TRUE(client.closed_by_server());
  EXPECT_EQ(HttpClient(server.port()).get("/healthz").status, 200U);
}

INSTANTIATE_TEST_SUITE_P(
    HttpProtocol, BadRequests,
    ::testing::Values(
        BadRequest{"no HTTP at all", "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400},
        BadRequest{"no target", "GET HTTP/1.1\r\n\r\n", 400},
        BadRequest{"no version", "GET /healthz\r\n\r\n", 400},
        BadRequest{"HTTP/2", "GET /healthz HTTP/2.0\r\n\r\n", 505},
        BadRequest{"a field without colon", "GET /healthz HTTP/1.1\r\nHost\r\n\r\n", 400},
        BadRequest{"a length that is no number",
                   "POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400},
        BadRequest{
            "two lengths",
            "POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            400},
        BadRequest{"length and chunks",
                   "POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n",
                   400},
        BadRequest{"a chunk of no size",
                   "POST /generate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                   400},
        BadRequest{"no host", "GET /healthz HTTP/1.1\r\n\r\n", 400},
        BadRequest{"two hosts", "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
        BadRequest{
            "a length beyond all limits",
            "POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551615\r\n\r\n",
            413}));

TEST(HttpProtocol, malformed_json_leaves_the_connection_usable) {
  TestServer server;
  HttpClient client(server.port());
  client.send(HttpClient::text("POST", "/generate", "{\"prompt\": "));
  EXPECT_EQ(client.read().status, 400U);
  client.send(HttpClient::text("POST", "/generate", ""));
  EXPECT_THAT(client.read().json()["error"]["message"].get<std::string>(),
              HasSubstr("the body is empty"));
  EXPECT_EQ(client.get("/healthz").status, 200U);
}

}  // namespace
}  // namespace forge::test
