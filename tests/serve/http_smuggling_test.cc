// Bodies whose end two readers could see in different places: refused, and nothing behind them is
// read as a request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "serve/test_server.h"

namespace forge::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class OddFraming : public ::testing::TestWithParam<const char*> {};

TEST_P(OddFraming, is_400_and_what_follows_is_no_request) {
  TestServer server;
  HttpClient client(server.port());
  client.send("POST /v1/completions HTTP/1.1\r\nHost: x\r\n" + std::string(GetParam()) +
              "\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  client.close_sending_side();
  const std::string answer = client.read_to_end();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer, HasSubstr("Connection: close"));
  EXPECT_THAT(answer, Not(HasSubstr("200 OK")));
}

INSTANTIATE_TEST_SUITE_P(
    HttpSmuggling, OddFraming,
    ::testing::Values("Transfer-Encoding: identity", "Transfer-Encoding: gzip",
                      "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, identity",
                      "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: \"chunked\"",
                      "Transfer-Encoding: xchunked", "Transfer-Encoding: chunked;q=1",
                      "Transfer-Encoding:", "Transfer-Encoding: xchunked\r\nContent-Length: 3",
                      "Transfer-Encoding: chunked\r\nContent-Length: 3",
                      "Content-Length: 3\r\nTransfer-Encoding: identity",
                      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
                      "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"));

TEST(HttpSmuggling, chunks_do_not_exist_in_http_1_0) {
  TestServer server;
  HttpClient client(server.port());
  client.send("POST /generate HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  EXPECT_EQ(client.read().status, 400U);
}

TEST(HttpSmuggling, chunked_is_read_in_any_case) {
  TestServer server;
  HttpClient client(server.port());
  client.send(
      "POST /generate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n"
      "f;name=\"value\"\r\n{\"prompt\": \"x\"}\r\n0\r\nTrailer: yes\r\n\r\n");
  EXPECT_EQ(client.read().status, 200U);
}

/// Bytes that a parser could wait behind for ever.
struct Endless {
  const char* name;
  const char* start;
  char rest;
};
void PrintTo(const Endless& endless, std::ostream* out) { *out << endless.name; }

class EndlessFraming : public ::testing::TestWithParam<Endless> {};

TEST_P(EndlessFraming, is_refused_once_the_limit_of_headers_is_reached) {
  TestServer server({.http = {.header_limit_bytes = 4096}});
  HttpClient client(server.port());
  // Not much more than the limit: what the server has not asked for stays in the socket's buffers.
  client.send("POST /nowhere HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" +
              std::string(GetParam().start) + std::string(3 * 4096, GetParam().rest));
  const auto response = client.read();
  EXPECT_THAT(response.status, ::testing::AnyOf(400U, 431U)) << response.body;
  EXPECT_TRUE(client.closed_by_server());
  EXPECT_EQ(HttpClient(server.port()).get("/healthz").status, 200U);
}

INSTANTIATE_TEST_SUITE_P(HttpSmuggling, EndlessFraming,
                         ::testing::Values(Endless{"the extension of a chunk", "5;", 'a'},
                                           Endless{"the value of an extension", "5;a=\"", 'b'},
                                           Endless{"the size of a chunk", "", '0'},
                                           Endless{"a trailer", "0\r\nTrailer: ", 'a'}));

TEST(HttpSmuggling, long_extensions_of_a_body_that_waited_in_line_are_refused) {
  TestServer server({.http = {.header_limit_bytes = 4096}});
  server.executor.allow_only(0);
  HttpClient client(server.port());
  client.send(HttpClient::text("/v1/completions", completion("x", 2)) +
              "POST /generate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5;" +
              std::string(100'000, 'a'));
  server.executor.release();
  EXPECT_EQ(client.read().status, 200U);
  EXPECT_EQ(client.read().status, 431U);
}

}  // namespace
}  // namespace forge::test
