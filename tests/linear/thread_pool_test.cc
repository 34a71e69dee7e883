#include "forge/linear/thread_pool.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

namespace forge::linear {
namespace {

TEST(ThreadPool, calls_each_part_once) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int parts : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<std::size_t>(parts));
      pool.run(parts, [&](int part) { ++calls[static_cast<std::size_t>(part)]; });
      for (const auto& count : calls) EXPECT_EQ(count, 1);
    }
  }
}

/// Plain variables, not atomic ones: the sanitizer for threads would see a part that is not ordered
/// with what stands before and after run().
TEST(ThreadPool, parts_see_what_was_written_before_and_are_seen_after) {
  ThreadPool pool(3);
  std::vector<int> numbers(64, 0);
  for (int round = 0; round < 2000; ++round) {
    for (int& number : numbers) ++number;
    pool.run(64, [&](int part) { numbers[static_cast<std::size_t>(part)] += 1; });
  }
  EXPECT_EQ(numbers, std::vector<int>(64, 4000));
}

TEST(ThreadPool, operations_follow_each_other_without_mixing) {
  ThreadPool pool(4);
  std::vector<std::uint64_t> sums(5, 0);
  std::uint64_t total = 0;
  for (int round = 0; round < 5000; ++round) {
    const int parts = 2 + round % 4;
    pool.run(parts, [&, round](int part) {
      sums[static_cast<std::size_t>(part)] += static_cast<std::uint64_t>(round);
    });
    total += static_cast<std::uint64_t>(parts) * static_cast<std::uint64_t>(round);
  }
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}), total);
}

TEST(ThreadPool, a_thread_runs_one_part_at_a_time) {
  ThreadPool pool(3);
  std::vector<int> busy(3, 0);  // of each thread, written by it alone
  std::vector<int> seen(3, 0);
  pool.run(300, [&](int, int thread) {
    const auto i = static_cast<std::size_t>(thread);
    EXPECT_EQ(busy[i]++, 0);
    ++seen[i];
    --busy[i];
  });
  EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0), 300);
}

TEST(ThreadPool, wakes_threads_that_went_to_sleep) {
  ThreadPool pool(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::atomic<int> here{0};
    // Each part waits for the other: only two threads can end this.
    pool.run(2, [&](int) {
      ++here;
      while (here < 2) std::this_thread::yield();
    });
    EXPECT_EQ(here, 2);
  }
}

TEST(ThreadPool, waits_for_a_part_that_takes_long) {
  ThreadPool pool(2);
  std::vector<int> done(2, 0);
  pool.run(2, [&](int part) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5 * part));
    done[static_cast<std::size_t>(part)] = 1;
  });
  EXPECT_EQ(done, std::vector<int>(2, 1));
}

TEST(ThreadPoolDeathTest, wants_at_least_one_thread) {
  EXPECT_DEATH(ThreadPool(0), "threads=0 not in 1 .. 1024");
  EXPECT_DEATH(ThreadPool(1025), "threads=1025 not in 1 .. 1024");
}

}  // namespace
}  // namespace forge::linear
