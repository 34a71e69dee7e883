// Many clients that do everything a client can do wrong, at once: whoever does it right gets the
// answer of a quiet server, and nothing is left behind. A short form; the seed is fixed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "serve/storm_client.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;

/// Limits that nobody meets, whose counts are kept.
constexpr serve::ClientLimits kAmple{
    .concurrent = 1'000'000, .waiting = 1'000'000, .tokens_per_minute = 1'000'000'000};

/// True once no request counts any more; false if that is not so within a minute.
bool eventually_nothing_counts(std::uint16_t port) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  std::string left;
  while (left != "1000000" && std::chrono::steady_clock::now() < deadline) {
    left = HttpClient(port)
               .post("/v1/completions", json::object())
               .header("x-ratelimit-remaining-requests");
  }
  return left == "1000000";
}

TEST(HttpStorm, a_client_may_leave_after_any_byte_of_its_request) {
  TestServer server({.http = {.client_limits = kAmple}});
  const std::string request = HttpClient::text("/v1/completions", stream("x", 3));
  for (std::size_t sent = 0; sent <= request.size(); ++sent) {
    HttpClient client(server.port());
    client.send(request.substr(0, sent));
    leave(client, sent % 2 == 0);
  }
  EXPECT_TRUE(server->eventually_idle());
  EXPECT_TRUE(eventually_nothing_counts(server.port()));
  EXPECT_EQ(HttpClient(server.port()).get("/healthz").status, 200U);
}

TEST(HttpStorm, a_client_may_leave_after_any_byte_of_its_answer) {
  TestServer server({.http = {.client_limits = kAmple}});
  const std::string request =
      HttpClient::text("POST", "/v1/completions", stream("x", 3).dump(), {{"Connection", "close"}});
  const std::size_t answer_bytes = [&] {
    HttpClient client(server.port());
    client.send(request);
    return client.read_to_end().size();
  }();
  for (std::size_t read = 0; read < answer_bytes; read += 3) {
    HttpClient client(server.port());
    client.send(request);
    client.read_bytes(read);
    leave(client, read % 2 == 0);
  }
  EXPECT_TRUE(server->eventually_idle());
  EXPECT_TRUE(eventually_nothing_counts(server.port()));
  EXPECT_EQ(HttpClient(server.port()).get("/healthz").status, 200U);
}

TEST(HttpStorm, answers_are_those_of_a_quiet_server_and_nothing_is_left) {
  constexpr int kClients = 8;
  TestServer server(
      {.scheduler = {.cache = {.num_blocks = 48, .block_size = 4, .num_host_blocks = 16},
                     .batch = {.max_batch_size = 6}},
       .http = {.max_connections = 64, .client_limits = kAmple}});
  server.executor.drafts = 2;
  std::vector<StormClient> clients;
  for (unsigned i = 0; i < kClients; ++i) clients.emplace_back(server.port(), 100 + i);
  std::vector<std::thread> threads;
  for (StormClient& client : clients) threads.emplace_back([&client] { client.run(60); });
  for (std::thread& thread : threads) thread.join();
  for (const StormClient& client : clients) {
    EXPECT_EQ(client.wrong(), 0);
    EXPECT_GT(client.right(), 20);
  }
  for (unsigned session = 0; session < StormClient::kSessions; ++session) {
    HttpClient client(server.port());
    client.send(HttpClient::text("DELETE", "/forge/v1/sessions/" + std::to_string(session), ""));
    client.read();
  }
  EXPECT_TRUE(server->eventually_idle());
  EXPECT_TRUE(eventually_nothing_counts(server.port()));
}

}  // namespace
}  // namespace forge::test
