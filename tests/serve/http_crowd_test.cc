// More connections than the server takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "serve/test_server.h"

namespace forge::test {
namespace {

using ::testing::HasSubstr;

using Crowd = std::vector<std::unique_ptr<HttpClient>>;

/// So many connections, each of which has sent `bytes`.
Crowd crowd_of(const TestServer& server, int count, const std::string& bytes) {
  Crowd crowd;
  for (int i = 0; i < count; ++i) {
    crowd.push_back(std::make_unique<HttpClient>(server.port()));
    crowd.back()->send(bytes);
  }
  return crowd;
}

TEST(HttpCrowd, connections_that_say_nothing_keep_nobody_out) {
  TestServer server({.http = {.max_connections = 4}});
  const Crowd silent = crowd_of(server, 40, "");
  EXPECT_EQ(HttpClient(server.port()).post("/v1/completions", completion("x", 2)).status, 200U);
}

TEST(HttpCrowd, connections_with_half_a_header_keep_nobody_out) {
  TestServer server({.http = {.max_connections = 4}});
  const Crowd half = crowd_of(server, 40, "GET /healthz HTTP/1.1\r\nHost: ");
  EXPECT_EQ(HttpClient(server.port()).post("/v1/completions", completion("x", 2)).status, 200U);
}

TEST(HttpCrowd, the_connection_that_is_idle_longest_gives_way) {
  TestServer server({.http = {.max_connections = 3}});
  HttpClient first(server.port());
  HttpClient second(server.port());
  HttpClient third(server.port());
  for (HttpClient* client : {&first, &second, &third, &first}) {
    EXPECT_EQ(client->get("/healthz").status, 200U);
  }
  HttpClient fourth(server.port());
  EXPECT_EQ(fourth.get("/healthz").status, 200U);
  EXPECT_TRUE(second.closed_by_server());
  EXPECT_EQ(third.get("/healthz").status, 200U);
  EXPECT_EQ(first.get("/healthz").status, 200U);
}

TEST(HttpCrowd, a_pool_of_more_connections_than_places_is_served) {
  TestServer server({.http = {.max_connections = 4}});
  for (int round = 0; round < 3; ++round) {
    Crowd pool;
    for (int i = 0; i < 20; ++i) {
      pool.push_back(std::make_unique<HttpClient>(server.port()));
      EXPECT_EQ(pool.back()->get("/v1/models").status, 200U);
    }
  }
}

/// A server of two places, both taken by requests that run until the target is released.
class HttpFullHouse : public ::testing::Test {
 protected:
  HttpFullHouse() : server({.http = {.max_connections = 2}}) {
    server.executor.allow_only(0);
    busy = crowd_of(server, 2, HttpClient::text("/v1/completions", completion("busy", 3)));
    EXPECT_TRUE(server->eventually(
        [](const engine::EngineStatus& status) { return status.running + status.waiting == 2; }));
  }
  void end() {
    server.executor.release();
    for (const auto& client : busy) {
      EXPECT_EQ(client->read().json()["choices"][0]["text"], expected_text("busy", 3));
    }
  }

  TestServer server;
  Crowd busy;
};

TEST_F(HttpFullHouse, answers_503_with_retry_after_at_once) {
  HttpClient newcomer(server.port());
  const auto response = newcomer.post("/v1/completions", completion("x", 3));
  EXPECT_EQ(response.status, 503U);
  EXPECT_EQ(response.header("Retry-After"), "1");
  EXPECT_EQ(response.header("Connection"), "close");
  EXPECT_EQ(response.json()["error"]["code"], "too_many_connections");
  EXPECT_THAT(response.json()["error"]["message"].get<std::string>(), HasSubstr("all 2 conn"));
  EXPECT_TRUE(newcomer.closed_by_server());
  end();
  while (HttpClient(server.port()).post("/v1/completions", completion("x", 3)).status == 503) {
    std::this_thread::yield();  // the server may not have seen yet that its answers were taken
  }
}

TEST_F(HttpFullHouse, answers_who_asks_for_the_health) {
  for (const char* path : {"/healthz", "/health", "/health?verbose=1"}) {
    HttpClient probe(server.port());
    const auto response = probe.get(path);
    EXPECT_EQ(response.status, 200U) << path;
    EXPECT_EQ(response.header("Connection"), "close") << "it has no place to stay";
  }
  HttpClient head(server.port());
  head.send(HttpClient::text("HEAD", "/health", ""));
  EXPECT_EQ(head.read(true).status, 200U);
  end();
}

TEST_F(HttpFullHouse, hears_a_probe_behind_a_crowd_that_says_nothing) {
  const Crowd silent = crowd_of(server, 100, "");
  const Crowd half = crowd_of(server, 100, "POST /v1/completions HTTP/1.1\r\n");
  EXPECT_EQ(HttpClient(server.port()).get("/health").status, 200U);
  EXPECT_EQ(HttpClient(server.port()).get("/v1/models").status, 503U);
  end();
}

TEST_F(HttpFullHouse, ends_its_visitors_when_it_shuts_down) {
  const Crowd silent = crowd_of(server, 10, "");
  EXPECT_EQ(HttpClient(server.port()).get("/health").status, 200U);
  server->shutdown();
  end();
  busy.clear();
  server->wait_for_end();
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMemoryEnds = false;
#elif defined(__has_feature)
constexpr bool kMemoryEnds = !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer);
#else
constexpr bool kMemoryEnds = true;
#endif

TEST(HttpConnection, an_exception_costs_the_connection_that_it_is_in) {
  if (!kMemoryEnds) GTEST_SKIP() << "a sanitizer ends the program when no memory is left";
  std::atomic<int> failures = 0;
  TestServer server({.http = {.body_limit_bytes = std::uint64_t{1} << 62,
                              .on_connection_error = [&](std::string_view what) {
                                failures += what == std::bad_alloc().what() ? 1 : 100;
                              }}});
  HttpClient other(server.port());
  EXPECT_EQ(other.get("/healthz").status, 200U);
  for (int i = 0; i < 3; ++i) {
    HttpClient greedy(server.port());
    greedy.send("POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: " +
                std::to_string(std::uint64_t{1} << 61) + "\r\n\r\n{");
    EXPECT_TRUE(greedy.closed_by_server());
  }
  EXPECT_EQ(other.post("/v1/completions", completion("fine", 3)).status, 200U);
  EXPECT_EQ(failures, 3);
}

}  // namespace
}  // namespace forge::test
