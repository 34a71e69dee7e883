// GET /forge/v1/trace: what the server keeps of its run, for operators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/test_server.h"

namespace forge::test {
namespace {

using ::testing::HasSubstr;

TestServerOptions keeping(std::string steps) {
  TestServerOptions options;
  options.http.trace_window = [steps = std::move(steps)] { return steps; };
  return options;
}

TEST(HttpTrace, answers_the_steps_that_are_kept_and_no_cache_may_keep_them) {
  const std::string steps = "{\"forge_trace\":10}\n{\"step\":{}}\n";
  TestServer server(keeping(steps));
  HttpClient client(server.port());
  const auto response = client.get("/forge/v1/trace");
  EXPECT_EQ(response.status, 200U);
  EXPECT_EQ(response.body, steps);
  EXPECT_EQ(response.header("Content-Type"), "application/x-ndjson");
  EXPECT_EQ(response.header("Cache-Control"), "no-store");
  client.send("HEAD /forge/v1/trace HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.read_header().header("Content-Length"), std::to_string(steps.size()));
}

TEST(HttpTrace, says_when_no_steps_are_kept) {
  for (const TestServerOptions& options : {TestServerOptions(), keeping("")}) {
    TestServer server(options);
    const auto response = HttpClient(server.port()).get("/forge/v1/trace");
    EXPECT_EQ(response.status, 404U);
    EXPECT_EQ(response.json()["error"]["code"], "no_trace_window");
    EXPECT_THAT(response.json()["error"]["message"].get<std::string>(),
                HasSubstr("--trace-window"));
  }
}

TEST(HttpTrace, takes_more_than_a_socket_does_at_once) {
  const std::string steps((std::size_t{8} << 20) - 1, 's');
  TestServer server(keeping(steps + "\n"));
  HttpClient client(server.port());
  EXPECT_EQ(client.get("/forge/v1/trace").body, steps + "\n");
  EXPECT_EQ(client.get("/health").status, 200U);
}

}  // namespace
}  // namespace forge::test
