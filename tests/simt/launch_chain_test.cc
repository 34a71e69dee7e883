// Launches that overlap: what runs side by side must not touch the same bytes, and whoever does is
// named with both lines and the launch before. And adds, which need no order among themselves.
#include "forge/simt/launch_chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

#include "forge/simt/checker.h"
#include "gpu/simulated_memory.h"
#include "simt/matrix_kernels.h"

namespace forge::simt {
namespace {

using ::testing::HasSubstr;
using Mistake = OverlapArgs::Mistake;

/// Launches of the kernel `overlap` in one stream, over arrays of 32 numbers.
class LaunchChainTest : public ::testing::Test {
 protected:
  float* array(const char* name) {
    return memory_.array(name, std::vector<float>(OverlapArgs::kThreads, 1));
  }

  std::optional<KernelFault> launch(const OverlapArgs& args, bool overlaps = true,
                                    std::optional<Site> left_out = {}) {
    chain_.begin("overlap", overlaps);
    Checker checker(memory_.map(), &chain_);
    const auto done = machine_.run(code("overlap", &MatrixEntries::overlap), {}, &args,
                                   {.observer = &checker, .left_out = left_out});
    if (!done) return done.error();
    checker.end_launch();
    return std::nullopt;
  }

  static void expect(const std::optional<KernelFault>& fault, const std::string& earlier,
                     const std::string& line, const std::string& detail) {
    ASSERT_TRUE(fault.has_value()) << "nothing was reported";
    EXPECT_EQ(fault->kind, FaultKind::race);
    EXPECT_EQ(fault->sites, (std::vector<Site>{matrix_line(earlier), matrix_line(line)}))
        << to_string(*fault);
    EXPECT_THAT(fault->detail, HasSubstr(detail));
  }

  gpu::SimulatedMemory memory_;
  float* const a_ = array("a");
  float* const b_ = array("b");
  float* const c_ = array("c");
  float* const d_ = array("d");
  float* const w_ = array("w");
  LaunchChain chain_;
  Machine machine_;
};

constexpr const char* kNotWaited = "the thread has not waited for it (wait_for_previous)";

TEST_F(LaunchChainTest, each_may_read_what_nobody_writes_before_it_waits_and_all_after) {
  EXPECT_FALSE(launch({a_, w_, b_, Mistake::none}, false));
  EXPECT_FALSE(launch({b_, w_, c_, Mistake::none}));
  EXPECT_FALSE(launch({c_, w_, b_, Mistake::none}));
  EXPECT_FALSE(launch({b_, w_, a_, Mistake::none}));
}

TEST_F(LaunchChainTest, a_read_before_the_wait_of_what_the_launch_before_writes_is_named) {
  EXPECT_FALSE(launch({a_, w_, b_, Mistake::none}, false));
  expect(launch({b_, w_, c_, Mistake::early_read}), "y", "an early read",
         "write by 'overlap', launched before, then read of 4 bytes at offset 0 of 'b' (128 "
         "bytes); " +
             std::string(kNotWaited));
}

TEST_F(LaunchChainTest, so_is_a_write_of_what_the_launch_before_reads) {
  EXPECT_FALSE(launch({a_, w_, b_, Mistake::none}, false));
  expect(launch({c_, w_, a_, Mistake::early_write}), "x", "an early write",
         "then write of 4 bytes");
}

TEST_F(LaunchChainTest, and_a_launch_that_does_not_wait_at_all) {
  EXPECT_FALSE(launch({a_, w_, b_, Mistake::none}, false));
  expect(launch({b_, w_, c_, Mistake::no_wait}), "y", "x", kNotWaited);
}

TEST_F(LaunchChainTest, or_whose_wait_is_left_out) {
  EXPECT_FALSE(launch({a_, w_, b_, Mistake::none}, false));
  const Site wait = matrix_line("the wait for what was launched before");
  expect(launch({b_, w_, c_, Mistake::none}, true, wait), "y", "x", kNotWaited);
}

TEST_F(LaunchChainTest, a_thread_that_does_not_wait_is_enough) {
  EXPECT_FALSE(launch({a_, w_, b_, Mistake::none}, false));
  const auto fault = launch({b_, w_, c_, Mistake::some_wait});
  expect(fault, "y", "x", kNotWaited);
  EXPECT_EQ(fault->threads[1], 7);
}

/// The launch between has begun, but may itself still wait.
TEST_F(LaunchChainTest, before_the_wait_it_runs_beside_the_launches_before_the_one_before) {
  EXPECT_FALSE(launch({a_, w_, b_, Mistake::none}, false));
  EXPECT_FALSE(launch({c_, w_, d_, Mistake::none}));
  expect(launch({b_, w_, c_, Mistake::early_read}), "y", "an early read", kNotWaited);
}

TEST_F(LaunchChainTest, after_it_too_if_the_one_between_has_not_waited) {
  EXPECT_FALSE(launch({a_, w_, b_, Mistake::none}, false));
  EXPECT_FALSE(launch({c_, w_, d_, Mistake::no_wait}));
  expect(launch({b_, w_, c_, Mistake::none}), "y", "x",
         "a launch between them has not waited for it");
}

TEST_F(LaunchChainTest, one_that_does_not_overlap_comes_after_all) {
  EXPECT_FALSE(launch({a_, w_, b_, Mistake::none}, false));
  EXPECT_FALSE(launch({c_, w_, d_, Mistake::no_wait}));
  EXPECT_FALSE(launch({b_, w_, c_, Mistake::early_read}, false));
}

TEST_F(LaunchChainTest, and_so_does_what_follows_a_copy) {
  EXPECT_FALSE(launch({a_, w_, b_, Mistake::none}, false));
  chain_.end_all();
  EXPECT_FALSE(launch({b_, w_, c_, Mistake::early_read}));
}

// ---- shared_add ---------------------------------------------------------------------------------

class SharedAdd : public ::testing::Test {
 protected:
  SharedAdd() {
    std::vector<std::uint32_t> numbers(CountArgs::kThreads);
    for (std::uint32_t i = 0; i < numbers.size(); ++i) numbers[i] = i * i % 8;
    args_.numbers = memory_.array("numbers", numbers);
    args_.counts = memory_.array("counts", std::vector<std::uint32_t>(8));
  }
  tl::expected<void, KernelFault> run(const LaunchOptions& options) {
    return Machine().run(code("count", &MatrixEntries::count), {.threads = CountArgs::kThreads},
                         &args_, options);
  }
  void expect_race(int missing_barrier, const std::string& earlier, const std::string& later) {
    args_.missing_barrier = missing_barrier;
    Checker checker(memory_.map());
    const auto done = run({.observer = &checker});
    ASSERT_FALSE(done.has_value()) << "nothing was reported";
    EXPECT_EQ(done.error().kind, FaultKind::race) << to_string(done.error());
    EXPECT_EQ(done.error().sites, (std::vector<Site>{matrix_line(earlier), matrix_line(later)}))
        << to_string(done.error());
  }

  gpu::SimulatedMemory memory_;
  CountArgs args_{};
};

TEST_F(SharedAdd, counts_in_any_order) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Checker checker(memory_.map());
    LaunchOptions options{.seed = seed};
    if (seed % 2 == 0) options.observer = &checker;
    const auto done = run(options);
    ASSERT_TRUE(done.has_value()) << to_string(done.error());
    EXPECT_THAT(std::vector<std::uint32_t>(args_.counts, args_.counts + 8),
                ::testing::ElementsAre(16, 32, 0, 0, 16, 0, 0, 0));
  }
}

TEST_F(SharedAdd, races_with_writes_and_reads) {
  expect_race(1, "an add", "zeros");
  expect_race(2, "counts", "an add");
}

}  // namespace
}  // namespace forge::simt
