// What metrics cost a server that has much to do.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <thread>
#include <vector>

#include "engine/counted_decodes.h"
#include "serve/metrics_text.h"
#include "serve/proof.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;
using Nanoseconds = std::chrono::duration<double, std::nano>;

template <class Number>
Number middle_of(std::vector<Number> numbers) {
  std::ranges::sort(numbers);
  return numbers[numbers.size() / 2];
}

TEST(HttpMetricsLoad, a_page_takes_5_ms_while_ten_thousand_requests_run) {
  const std::uint32_t requests = proof_seed() ? 10'000 : 500;
  const std::size_t pages = proof_seed() ? 200 : 5;
  constexpr std::uint32_t kBlocks = 2'000'000;
  TestServer server(
      {.scheduler = {.cache = {.num_blocks = kBlocks, .block_size = 16},
                     .batch = {.max_batch_size = requests, .max_batch_tokens = 32 * requests}},
       .queue_limit = requests});
  server.executor.slow_down(std::chrono::milliseconds(5));
  for (std::uint32_t i = 0; i < requests; ++i) {
    ASSERT_TRUE(server.loop().submit(
        {.prompt = std::vector<TokenId>(8, text::ByteTokenizer::token_of('p')),
         .max_new_tokens = kBlocks / requests * 15},  // none ends while it is looked at
        {}, [](const engine::TokenEvent&) {}));
  }
  ASSERT_TRUE(server->eventually([&](const auto& s) { return s.running == requests; }));
  HttpClient client(server.port());
  std::vector<Milliseconds> times;
  for (std::size_t i = 0; i < pages; ++i) {
    const auto begun = Clock::now();
    const HttpClient::Response page = client.get("/metrics");
    times.push_back(Clock::now() - begun);
    ASSERT_EQ(MetricsText(page.body).value("vllm:num_requests_running"), requests);
  }
  server.loop().end_all();
  std::cout << "median " << middle_of(times).count() << " ms, longest "
            << std::ranges::max(times).count() << " ms\n[  CASES   ] " << pages << '\n';
  if (proof_seed()) {
    EXPECT_LE(middle_of(times).count(), 5);
  }
}

/// What it takes to serve a token: all that server and clients do for it, the target's part little.
Nanoseconds time_of_a_token(std::size_t clients, int requests, int tokens) {
  const TestServer server;
  std::vector<std::thread> threads;
  const auto begun = Clock::now();
  for (std::size_t i = 0; i < clients; ++i) {
    threads.emplace_back([&server, requests, tokens] {
      HttpClient client(server.port());
      for (int request = 0; request < requests; ++request) {
        client.send(HttpClient::text("/v1/completions", stream("load", tokens)));
        EXPECT_EQ(client.read().status, 200U);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return Nanoseconds(Clock::now() - begun) / (static_cast<double>(clients) * requests * tokens);
}

/// What it takes to count one, in steps of so many decodes.
Nanoseconds time_of_counting(std::size_t decodes, int steps) {
  CountedDecodes counted(decodes);
  const auto begun = Clock::now();
  for (int step = 0; step < steps; ++step) counted.step();
  const Nanoseconds time = Clock::now() - begun;
  EXPECT_GT(counted.published().step_time.view().sum, 0) << "nothing is left out";
  return time / (static_cast<double>(decodes) * steps);
}

TEST(HttpMetricsLoad, counting_takes_at_most_2_percent_of_serving) {
  constexpr std::size_t kClients = 16;
  const int requests = proof_seed() ? 200 : 2;
  const int tokens = proof_seed() ? 64 : 8;
  std::vector<double> shares;
  for (int run = 0; run < (proof_seed() ? 5 : 1); ++run) {
    const Nanoseconds serving = time_of_a_token(kClients, requests, tokens);
    const Nanoseconds counting = time_of_counting(kClients, requests * tokens);
    shares.push_back(counting / serving);
    std::cout << counting.count() << " ns of " << serving.count() << " ns\n";
  }
  std::cout << "[  CASES   ] " << shares.size() << '\n';
  if (proof_seed()) {
    EXPECT_LE(middle_of(shares), 0.02);
  }
}

}  // namespace
}  // namespace forge::test
