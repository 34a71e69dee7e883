// Ten times the load that a server can carry: what it takes in is served as quickly as before, and
// what it refuses is refused at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/proof.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

constexpr std::size_t kPlaces = 4;
constexpr std::size_t kQueue = 12;
constexpr int kTokens = 20;
constexpr std::chrono::microseconds kStep{500};
/// What the server can carry, in requests a second.
constexpr double kCapacity = kPlaces * 1e6 / (kTokens * kStep.count());

/// What the server says of the requests that it has answered.
class AnswerTimes {
 public:
  void add(const serve::RequestRecord& record) {
    const std::lock_guard lock(mutex_);
    (record.status == 200 ? served_ : refused_).push_back(record.time.count());
    if (record.status != 200 && record.status != 503) ++others_;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    served_.clear();
    refused_.clear();
  }
  std::size_t served() const { return times(served_).size(); }
  std::size_t refused() const { return times(refused_).size(); }
  std::size_t others() const {
    const std::lock_guard lock(mutex_);
    return others_;
  }
  double p99_of_served() const { return p99(times(served_)); }
  double p99_of_refused() const { return p99(times(refused_)); }

 private:
  /// A copy: a client may have its answer before the server says so here.
  std::vector<double> times(const std::vector<double>& which) const {
    const std::lock_guard lock(mutex_);
    return which;
  }
  static double p99(std::vector<double> times) {
    if (times.empty()) return 0;
    std::ranges::sort(times);
    return times[times.size() * 99 / 100];
  }

  mutable std::mutex mutex_;
  std::vector<double> served_, refused_;  // milliseconds
  std::size_t others_ = 0;
};

/// Clients that ask again as soon as they are answered, until `requests` have been served: as many
/// as there are places, in the batch and in the queue. They keep both full.
void fill(const TestServer& server, const AnswerTimes& records, std::size_t requests) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kPlaces + kQueue; ++i) {
    threads.emplace_back([&server, &records, requests] {
      HttpClient client(server.port());
      while (records.served() < requests) {
        if (client.post("/v1/completions", completion("load", kTokens)).status == 200) continue;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Beyond that, others who ask in time, answered or not.
class Others {
 public:
  Others(const TestServer& server, double requests_a_second) {
    const std::chrono::duration<double> pause(kThreads / requests_a_second);
    for (int i = 0; i < kThreads; ++i) {
      threads_.emplace_back([this, &server, pause] {
        HttpClient client(server.port());
        while (!done_) {
          std::this_thread::sleep_for(pause);
          const auto response = client.post("/v1/completions", completion("crowd", kTokens));
          if (response.status == 503 && response.header("Retry-After").empty()) ++silent_;
        }
      });
    }
  }
  /// Returns: how many were refused without a word of when to come again.
  int leave() {
    done_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    return silent_;
  }

 private:
  static constexpr int kThreads = 40;
  std::atomic<bool> done_ = false;
  std::atomic<int> silent_ = 0;
  std::vector<std::thread> threads_;
};

TEST(HttpOverload, what_is_taken_in_is_as_quick_and_what_is_refused_is_refused_at_once) {
  const std::size_t requests = proof_seed() ? 2000 : 100;
  AnswerTimes records;
  TestServer server({.scheduler = {.cache = {.num_blocks = 512, .block_size = 16},
                                   .batch = {.max_batch_size = kPlaces}},
                     .queue_limit = kQueue,
                     .http = {.on_request = [&records](const serve::RequestRecord& record) {
                       records.add(record);
                     }}});
  server.executor.slow_down(kStep);
  fill(server, records, requests);
  ASSERT_TRUE(server->eventually_idle());
  const double before = records.p99_of_served();
  records.clear();
  Others others(server, 9 * kCapacity);
  fill(server, records, requests);
  EXPECT_EQ(others.leave(), 0);
  ASSERT_TRUE(server->eventually_idle());
  std::cout << "served p99 " << before << " ms, under ten times the load "
            << records.p99_of_served() << " ms; " << records.refused() << " refused beside "
            << records.served() << ", p99 " << records.p99_of_refused() << " ms\n[  CASES   ] "
            << records.served() + records.refused() << '\n';
  EXPECT_EQ(records.others(), 0U);
  if (proof_seed()) {
    EXPECT_GT(records.refused(), 5 * records.served());
    EXPECT_LE(records.p99_of_served(), 1.2 * before);
    EXPECT_LT(records.p99_of_refused(), 5);
  }
}

}  // namespace
}  // namespace forge::test
