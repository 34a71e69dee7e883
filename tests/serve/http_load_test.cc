// Many clients at once.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "serve/test_server.h"

namespace forge::test {
namespace {

using nlohmann::json;

TEST(HttpLoad, concurrent_streams_say_what_each_says_alone) {
  TestServer server({.scheduler = {.cache = {.num_blocks = 64, .block_size = 4},
                                   .batch = {.max_batch_size = 8}}});
  constexpr std::size_t kStreams = 32;
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (std::size_t i = 0; i < kStreams; ++i) {
    clients.push_back(std::make_unique<HttpClient>(server.port()));
    clients.back()->send(
        HttpClient::text("/v1/completions", stream("prompt " + std::to_string(i), 40)));
  }
  for (std::size_t i = 0; i < kStreams; ++i) {
    std::string text;
    clients[i]->read_header();
    while (auto event = clients[i]->next_event()) {
      if (*event != "[DONE]") text += json::parse(*event)["choices"][0]["text"];
    }
    EXPECT_EQ(text, expected_text("prompt " + std::to_string(i), 40));
  }
  EXPECT_TRUE(server->eventually_idle());
}

TEST(HttpLoad, a_full_queue_is_503_with_retry_after) {
  TestServer server({.scheduler = {.batch = {.max_batch_size = 1}}, .queue_limit = 1});
  server.executor.allow_only(1);
  HttpClient running(server.port());
  running.send(HttpClient::text("/v1/completions", completion("a", 3)));
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.running == 1; }));
  HttpClient waiting(server.port());
  waiting.send(HttpClient::text("/v1/completions", completion("b", 3)));
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.waiting == 1; }));

  HttpClient refused(server.port());
  const auto response = refused.post("/v1/completions", completion("c", 3));
  EXPECT_EQ(response.status, 503U);
  EXPECT_EQ(response.header("Retry-After"), "1");
  EXPECT_EQ(response.json()["error"]["code"], "queue_full");
  server.executor.release();
  EXPECT_EQ(running.read().status, 200U);
  EXPECT_EQ(waiting.read().status, 200U);
  EXPECT_EQ(refused.post("/v1/completions", completion("c", 3)).status, 200U);
}

TEST(HttpLoad, memory_under_pressure_is_503_with_retry_after_where_it_is_to_be) {
  TestServer server({.scheduler = {.cache = {.num_blocks = 64}, .memory_pressure = 1},
                     .refuse_under_pressure = true});
  server.executor.allow_only(1);
  HttpClient running(server.port());
  running.send(HttpClient::text("/v1/completions", completion("a", 3)));
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.running == 1; }));
  HttpClient refused(server.port());
  const auto response = refused.post("/v1/completions", completion("c", 3));
  EXPECT_EQ(response.status, 503U);
  EXPECT_EQ(response.header("Retry-After"), "1");
  EXPECT_EQ(response.json()["error"]["code"], "memory_pressure");
  server.executor.release();
  EXPECT_EQ(running.read().status, 200U);
  ASSERT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.running == 0; }));
  EXPECT_EQ(refused.post("/v1/completions", completion("c", 3)).status, 200U);
}

TEST(HttpLoad, a_flood_is_answered_request_by_request) {
  TestServer server(
      {.scheduler = {.cache = {.num_blocks = 32, .block_size = 4}, .batch = {.max_batch_size = 4}},
       .queue_limit = 8,
       .http = {.max_connections = 64}});
  server.executor.slow_down(std::chrono::microseconds(100));
  server.executor.allow_only(0);  // until the queue is full
  constexpr int kThreads = 8;
  constexpr int kRequests = 25;
  std::atomic<int> answered{0};
  std::atomic<int> refused{0};
  std::atomic<int> wrong{0};
  const auto flood = [&](int thread) {
    for (int i = 0; i < kRequests; ++i) {
      // A burst of four connections, of all threads more than batch and queue hold.
      std::vector<std::unique_ptr<HttpClient>> burst;
      const std::string prompt = std::to_string(thread) + "/" + std::to_string(i);
      for (int j = 0; j < 4; ++j) {
        burst.push_back(std::make_unique<HttpClient>(server.port()));
        burst.back()->send(HttpClient::text("/v1/completions", completion(prompt, 20)));
      }
      for (const auto& client : burst) {
        const auto response = client->read();
        if (response.status == 503) {
          ++refused;
        } else if (response.json()["choices"][0]["text"] == expected_text(prompt, 20)) {
          ++answered;
        } else {
          ++wrong;
        }
      }
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) threads.emplace_back(flood, thread);
  EXPECT_TRUE(server->eventually([](const engine::EngineStatus& s) { return s.waiting == 8; }));
  HttpClient late(server.port());
  EXPECT_EQ(late.post("/v1/completions", completion("late", 20)).status, 503U);
  server.executor.release();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(answered + refused, kThreads * kRequests * 4);
  EXPECT_GT(answered, 0);
  EXPECT_TRUE(server->eventually_idle());
}

}  // namespace
}  // namespace forge::test
