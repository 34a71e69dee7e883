// Probes of a server that has more to do than it can.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <thread>
#include <vector>

#include "serve/proof.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

/// Clients that ask without a pause, whole and streamed.
class FullLoad {
 public:
  FullLoad(const TestServer& server, int clients) {
    for (int i = 0; i < clients; ++i) {
      threads_.emplace_back([this, &server, i] {
        HttpClient client(server.port());
        while (!done_) {
          client.send(HttpClient::text("/v1/completions",
                                       i % 2 == 0 ? stream("load", 40) : completion("load", 40)));
          client.read();
        }
      });
    }
  }
  ~FullLoad() {
    done_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  FullLoad(const FullLoad&) = delete;
  FullLoad& operator=(const FullLoad&) = delete;

 private:
  std::atomic<bool> done_ = false;
  std::vector<std::thread> threads_;
};

TEST(HttpProbeLoad, no_probe_of_a_busy_server_is_false_and_none_waits_for_work) {
  const std::size_t probes = proof_seed() ? 12'500 : 400;
  TestServer server({.http = {.health_stall = std::chrono::milliseconds(10'000)}});
  server.executor.slow_down(std::chrono::microseconds(200));
  std::vector<Milliseconds> times;
  {
    const FullLoad load(server, 24);
    auto kept = std::make_unique<HttpClient>(server.port());
    for (std::size_t i = 0; i < probes; ++i) {
      if (i % 16 == 0) kept = std::make_unique<HttpClient>(server.port());
      const auto begun = Clock::now();
      ASSERT_EQ(kept->get(i % 2 == 0 ? "/health/ready" : "/health/live").status, 200U) << i;
      times.push_back(Clock::now() - begun);
    }
  }
  std::ranges::sort(times);
  const Milliseconds p99 = times[times.size() * 99 / 100];
  std::cout << "p99 " << p99.count() << " ms, longest " << times.back().count() << " ms\n"
            << "[  CASES   ] " << probes << '\n';
  if (proof_seed()) {
    EXPECT_LE(p99.count(), 50);
  }
}

TEST(HttpProbeLoad, a_target_that_hangs_is_seen_within_the_stall_time_and_a_second) {
  const auto stall = std::chrono::milliseconds(proof_seed() ? 2000 : 100);
  TestServer server({.http = {.health_stall = stall}});
  server.executor.allow_only(3);
  HttpClient client(server.port());
  client.send(HttpClient::text("/v1/completions", stream("hangs", 40)));
  client.read_header();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client.next_event());
  const auto begun = Clock::now();
  HttpClient probe(server.port());
  while (probe.get("/health/live").status == 200U) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const Milliseconds seen = Clock::now() - begun;
  std::cout << "seen after " << seen.count() << " ms\n[  CASES   ] 1\n";
  if (proof_seed()) {
    EXPECT_LE(seen, stall + std::chrono::milliseconds(1000));
  }
}

}  // namespace
}  // namespace forge::test
