// A server whose target is lost answers, and says that it can do nothing more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "serve/test_server.h"

namespace forge::test {
namespace {

using ::testing::HasSubstr;

/// A server that has lost its target while it ran a request.
class HttpTargetLost : public ::testing::Test {
 protected:
  HttpTargetLost() {
    server_.executor.lose();
    failed_ = HttpClient(server_.port()).post("/v1/completions", completion("x", 5));
  }

  TestServer server_;
  HttpClient::Response failed_;
};

TEST_F(HttpTargetLost, the_request_under_way_is_500) {
  EXPECT_EQ(failed_.status, 500U);
  EXPECT_EQ(failed_.json()["error"]["code"], "execution_failed");
  EXPECT_THAT(failed_.json()["error"]["message"], HasSubstr("told to be lost"));
}

TEST_F(HttpTargetLost, a_later_request_is_503_and_not_asked_to_come_again) {
  HttpClient client(server_.port());
  const auto response = client.post("/v1/completions", completion("y", 5));
  EXPECT_EQ(response.status, 503U);
  EXPECT_EQ(response.json()["error"]["code"], "target_lost");
  EXPECT_THAT(response.json()["error"]["message"], HasSubstr("told to be lost"));
  EXPECT_EQ(response.header("Retry-After"), "");
  EXPECT_EQ(client.post("/generate", {{"prompt", "z"}}).status, 503U);
}

TEST_F(HttpTargetLost, the_health_is_503_and_says_why) {
  for (const char* path : {"/health/live", "/health/ready", "/health", "/healthz"}) {
    const auto response = HttpClient(server_.port()).get(path);
    EXPECT_EQ(response.status, 503U) << path;
    EXPECT_EQ(response.body, R"({"status":"target_lost"})");
  }
  const auto response = HttpClient(server_.port()).get("/forge/v1/health");
  EXPECT_EQ(response.status, 503U);
  EXPECT_EQ(response.json()["status"], "target_lost");
  EXPECT_EQ(response.json()["reason"], "told to be lost");
  EXPECT_TRUE(server_->eventually([](const engine::EngineStatus& s) {
    return s.free_blocks == 512;
  })) << "cached prefixes are given up too";
}

TEST_F(HttpTargetLost, the_server_shuts_down_as_ever) {
  server_->shutdown();
  server_->wait_for_end();
  server_.loop().drain();
  EXPECT_TRUE(server_->eventually_idle());
}

TEST(HttpStreamTargetLost, a_stream_under_way_ends_with_an_error_event) {
  TestServer server;
  server.executor.allow_only(2);
  HttpClient client(server.port());
  client.send(HttpClient::text("/v1/completions", stream("x", 50)));
  client.read_header();
  server.executor.lose();
  server.executor.release();
  const auto events = client.read_events();
  ASSERT_FALSE(events.empty());
  EXPECT_THAT(events.back(), HasSubstr("told to be lost"));
}

}  // namespace
}  // namespace forge::test
