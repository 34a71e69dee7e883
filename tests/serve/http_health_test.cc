// What probes are told of a server: while its model is loaded, while it works, while it hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "forge/engine/engine.h"
#include "forge/serve/http_server.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

using ::testing::HasSubstr;

constexpr std::array kProbes{"/health", "/healthz", "/health/ready", "/health/live"};

/// Asks until the status is this one.
void await_status(HttpClient& client, const char* path, unsigned status) {
  while (client.get(path).status != status) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(HttpHealth, of_a_server_that_is_well_is_one_word) {
  const TestServer server;
  HttpClient client(server.port());
  for (const char* path : kProbes) {
    const auto response = client.get(path);
    EXPECT_EQ(response.status, 200U) << path;
    EXPECT_EQ(response.body, R"({"status":"ok"})");
    EXPECT_EQ(response.header("Content-Type"), "application/json");
  }
}

/// A server that has no model yet.
class HttpLoading : public ::testing::Test {
 protected:
  HttpLoading() : server_(io_, {.linger_timeout = std::chrono::milliseconds(500)}) {
    port_ = server_.listen({.host = "127.0.0.1", .port = 0}).value().port;
    thread_ = std::thread([this] { io_.run(); });
  }
  ~HttpLoading() override {
    if (!thread_.joinable()) return;
    server_.shutdown();
    thread_.join();
  }
  void give_model() {
    boost::asio::post(io_, [this] { server_.serve(loop_, model_of({})); });
  }
  void wait_for_end() {
    server_.shutdown();
    thread_.join();
  }

  FakeExecutor executor_;
  const text::ByteTokenizer bytes_;
  engine::Engine engine_{{.cache = {.num_blocks = 64, .block_size = 16}}, executor_};
  boost::asio::io_context io_;
  engine::EngineLoop loop_{engine_, bytes_, {}};
  serve::HttpServer server_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

TEST_F(HttpLoading, probes_are_answered_and_what_needs_a_model_is_503) {
  HttpClient client(port_);
  EXPECT_EQ(client.get("/health/live").status, 200U);
  for (const char* path : {"/health", "/healthz", "/health/ready"}) {
    const auto response = client.get(path);
    EXPECT_EQ(response.status, 503U) << path;
    EXPECT_EQ(response.body, R"({"status":"loading"})");
  }
  for (const char* path : {"/v1/models", "/metrics", "/forge/v1/health", "/forge/v1/cache/stats"}) {
    EXPECT_EQ(client.get(path).status, 503U) << path;
  }
  const auto response = client.post("/v1/completions", completion("x", 5));
  EXPECT_EQ(response.status, 503U);
  EXPECT_EQ(response.json()["error"]["code"], "loading");
  EXPECT_EQ(response.header("Retry-After"), "1");
  EXPECT_EQ(client.get("/nowhere").status, 404U);

  give_model();
  await_status(client, "/health/ready", 200);
  EXPECT_EQ(client.post("/v1/completions", completion("x", 5)).json()["choices"][0]["text"],
            expected_text("x", 5));
}

TEST_F(HttpLoading, it_can_be_shut_down_before_there_is_a_model) {
  HttpClient client(port_);
  EXPECT_EQ(client.get("/health/live").status, 200U);
  wait_for_end();
  EXPECT_TRUE(client.closed_by_server());
}

TEST(HttpHealth, of_a_target_that_hangs_within_a_step_fails_until_it_gets_on) {
  TestServer server({.http = {.health_stall = std::chrono::milliseconds(40)}});
  server.executor.allow_only(0);
  HttpClient client(server.port());
  client.send(HttpClient::text("/v1/completions", completion("p", 4)));
  HttpClient probe(server.port());
  await_status(probe, "/health/live", 503);
  EXPECT_EQ(probe.get("/health/live").body, R"({"status":"stalled"})");
  EXPECT_EQ(probe.get("/health/ready").body, R"({"status":"stalled"})");
  server.executor.release();
  EXPECT_EQ(client.read().status, 200U);
  await_status(probe, "/health/live", 200);
}

TEST(HttpHealth, fails_while_work_waits_and_steps_yield_nothing) {
  TestServer server(
      {.scheduler = {.batch = {.max_batch_size = 1}}, .http = {.health_stall_steps = 3}});
  server.executor.fail(true);
  server.executor.allow_only(0);
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(std::make_unique<HttpClient>(server.port()));
    clients.back()->send(HttpClient::text("/v1/completions", completion("p", 4)));
  }
  ASSERT_TRUE(
      server->eventually([](const engine::EngineStatus& s) { return s.running + s.waiting == 6; }));
  HttpClient probe(server.port());
  EXPECT_EQ(probe.get("/healthz").status, 200U);
  server.executor.allow_only(3);
  ASSERT_TRUE(
      server->eventually([](const engine::EngineStatus& s) { return s.stalled_steps == 3; }));
  const auto response = probe.get("/healthz");
  EXPECT_EQ(response.status, 503U);
  EXPECT_EQ(response.json()["status"], "stalled");
  server.executor.release();
  ASSERT_TRUE(server->eventually_idle());
  EXPECT_EQ(probe.get("/healthz").status, 200U) << "no work is waiting any more";
}

TEST(HttpHealth, without_a_key_says_the_same_and_the_rest_is_for_operators) {
  const auto oper = serve::make_key("olga:operator").value();
  const auto alice = serve::make_key("alice:client").value();
  TestServer server({.keys = serve::ApiKeys::parse(oper.line + '\n' + alice.line).value()});
  for (const char* path : kProbes) {
    EXPECT_EQ(HttpClient(server.port()).get(path).body, R"({"status":"ok"})");
  }
  EXPECT_EQ(HttpClient(server.port()).get("/forge/v1/health").status, 401U);
  const auto with = [&server](const std::string& key) {
    HttpClient asks(server.port());
    asks.send(
        HttpClient::text("GET", "/forge/v1/health", "", {{"Authorization", "Bearer " + key}}));
    return asks.read();
  };
  EXPECT_EQ(with(alice.key).status, 403U);
  EXPECT_EQ(with(oper.key).json()["free_blocks"], 512);
}

}  // namespace
}  // namespace forge::test
