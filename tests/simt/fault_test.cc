// Each rule of the dialect, broken once: what the report says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "forge/simt/checker.h"
#include "simt/test_kernels.h"

namespace forge::simt {
namespace {

using ::testing::HasSubstr;

// g++ says by macro which sanitizer is on, clang by __has_feature.
#if !defined(__has_feature)
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

constexpr int kMistakeBlocks = 4;
constexpr int kFaultyBlock = 2;

/// The buffers of the kernel `mistake`, with room between them, as far as the checker knows.
class Mistakes : public ::testing::Test {
 protected:
  Mistakes() {
    map_.add({address(values()), 4 * kMistakeBlocks * MistakeArgs::kThreads, "values"});
    map_.add({address(other()), 4 * MistakeArgs::kThreads, "other"});
  }

  /// Runs the kernel with a mistake; returns the fault that stopped it.
  std::optional<KernelFault> run(Mistake mistake, bool checked, const LaunchOptions& how = {},
                                 bool parallel = false) {
    const MistakeArgs args{mistake, kFaultyBlock, values(), other()};
    Checker checker(map_);
    LaunchOptions options = how;
    if (checked) options.observer = &checker;
    const auto done = (parallel ? three_ : one_)
                          .run(code("mistake", &TestEntries::mistake),
                               {{kMistakeBlocks, 1, 1}, MistakeArgs::kThreads}, &args, options);
    if (done.has_value()) return std::nullopt;
    return done.error();
  }

  float* values() { return memory_.data() + 64; }
  float* other() { return memory_.data() + 512; }

 private:
  static std::uintptr_t address(const float* p) { return reinterpret_cast<std::uintptr_t>(p); }

  alignas(256) std::array<float, 1024> memory_{};
  MemoryMap map_;
  Machine one_{1};
  Machine three_{3};
};

/// What a mistake's report must say.
struct Expected {
  Mistake mistake;
  FaultKind kind;
  std::vector<int> threads;
  std::vector<std::string> lines;  ///< marks of test_kernels.cuh
  std::string detail;
  int block = kFaultyBlock;
};

void PrintTo(const Expected& expected, std::ostream* out) { *out << expected.lines[0]; }

void expect_report(const KernelFault& fault, const Expected& expected) {
  EXPECT_EQ(fault.kind, expected.kind);
  EXPECT_EQ(fault.kernel, "mistake");
  EXPECT_EQ(fault.block, (Index3{expected.block, 0, 0}));
  EXPECT_EQ(fault.threads, expected.threads);
  std::vector<Site> sites;
  for (const std::string& line : expected.lines) sites.push_back(line_with(line));
  EXPECT_EQ(fault.sites, sites) << to_string(fault);
  EXPECT_THAT(fault.detail, HasSubstr(expected.detail));
}

// ---- What only the checked machine sees ---------------------------------------------------------

class IllegalAccess : public Mistakes, public ::testing::WithParamInterface<Expected> {};

TEST_P(IllegalAccess, IsNamedWithItsLine) {
  const std::optional<KernelFault> fault = run(GetParam().mistake, true);
  ASSERT_TRUE(fault.has_value());
  expect_report(*fault, GetParam());
}

TEST_P(IllegalAccess, IsTheSameReportOnManyHostThreads) {
  if (kThreadSanitizer && GetParam().mistake >= Mistake::race_between_blocks) {
    GTEST_SKIP() << "blocks that race are host threads that race";
  }
  const std::optional<KernelFault> fault = run(GetParam().mistake, true, {}, true);
  ASSERT_TRUE(fault.has_value());
  expect_report(*fault, GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Bounds, IllegalAccess,
    ::testing::Values(Expected{Mistake::read_past_buffer,
                               FaultKind::out_of_bounds,
                               {5},
                               {"read past buffer"},
                               "read of 4 bytes at offset 1024 of 'values' (1024 bytes)"},
                      Expected{Mistake::write_before_buffer,
                               FaultKind::out_of_bounds,
                               {6},
                               {"write before buffer"},
                               "write of 4 bytes at offset -4 of 'values'"},
                      Expected{Mistake::read_other_buffer,
                               FaultKind::out_of_bounds,
                               {7},
                               {"read other buffer"},
                               "'other' is there, at offset 0"},
                      Expected{Mistake::read_unknown_memory,
                               FaultKind::out_of_bounds,
                               {8},
                               {"unknown memory"},
                               "no buffer of the device"},
                      Expected{Mistake::read_past_shared,
                               FaultKind::out_of_bounds,
                               {9},
                               {"read past shared"},
                               "offset 256 of shared array 'tile' (256 bytes)"},
                      Expected{Mistake::write_other_shared,
                               FaultKind::out_of_bounds,
                               {10},
                               {"write other shared"},
                               "shared array 'behind' is there"}));

INSTANTIATE_TEST_SUITE_P(Alignment, IllegalAccess,
                         ::testing::Values(Expected{Mistake::misaligned_load,
                                                    FaultKind::misaligned,
                                                    {11},
                                                    {"misaligned load"},
                                                    "offset 4 of 'values'"},
                                           Expected{Mistake::misaligned_store,
                                                    FaultKind::misaligned,
                                                    {12},
                                                    {"misaligned store"},
                                                    "not a multiple of 16"}));

INSTANTIATE_TEST_SUITE_P(
    Uninitialised, IllegalAccess,
    ::testing::Values(
        Expected{Mistake::read_uninitialised,
                 FaultKind::uninitialised,
                 {13},
                 {"uninitialised"},
                 "offset 52 of shared array 'tile' (256 bytes); nobody has written there"},
        // What follows from it is not the fault.
        Expected{Mistake::uninitialised_index,
                 FaultKind::uninitialised,
                 {15},
                 {"index from nowhere"},
                 "offset 60 of shared array 'tile'"},
        Expected{Mistake::uninitialised_branch,
                 FaultKind::uninitialised,
                 {16},
                 {"branch from nowhere"},
                 "offset 64 of shared array 'tile'"}));

INSTANTIATE_TEST_SUITE_P(
    Races, IllegalAccess,
    ::testing::Values(Expected{Mistake::race_between_warps,
                               FaultKind::race,
                               {0, 32},
                               {"warps read", "warps write"},
                               "read, then write of 4 bytes at offset 128 of shared array 'tile'"},
                      Expected{Mistake::race_within_warp,
                               FaultKind::race,
                               {0, 1},
                               {"lanes read", "lanes write"},
                               "no barrier between them"},
                      Expected{Mistake::race_read_then_write,
                               FaultKind::race,
                               {0, 1},
                               {"late write", "early read"},
                               "write, then read of 4 bytes at offset 0"},
                      Expected{Mistake::race_in_global_memory,
                               FaultKind::race,
                               {0, 40},
                               {"two writers", "two writers"},
                               "write, then write of 4 bytes at offset 8 of 'values'"},
                      Expected{Mistake::race_between_blocks,
                               FaultKind::race,
                               {4, 4},
                               {"two blocks write", "two blocks write"},
                               "block (0, 0, 0) writes, this block writes offset 0 of 'values'",
                               1},
                      Expected{Mistake::read_of_other_block,
                               FaultKind::race,
                               {0, 1},
                               {"own row", "other row"},
                               "block (1, 0, 0) writes, this block reads offset 256 of 'values'",
                               2}));

// ---- What every machine sees --------------------------------------------------------------------

class Divergence : public Mistakes, public ::testing::WithParamInterface<Expected> {};

TEST_P(Divergence, IsNamedInEveryBuildAndOrder) {
  for (const bool checked : {false, true}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      LaunchOptions options;
      if (seed > 0) options.seed = seed;
      const std::optional<KernelFault> fault =
          run(GetParam().mistake, checked, options, seed % 2 == 1);
      ASSERT_TRUE(fault.has_value());
      expect_report(*fault, GetParam());
      EXPECT_EQ(fault->seed, options.seed);
    }
  }
}

std::vector<int> from_to(int first, int last) {
  std::vector<int> threads;
  for (int t = first; t <= last; ++t) threads.push_back(t);
  return threads;
}

INSTANTIATE_TEST_SUITE_P(
    Barriers, Divergence,
    ::testing::Values(Expected{Mistake::barrier_in_branch,
                               FaultKind::divergent_barrier,
                               {14},
                               {"barrier in branch"},
                               "thread 14 returned"},
                      Expected{Mistake::barrier_after_return,
                               FaultKind::divergent_barrier,
                               from_to(32, 63),
                               {"barrier after return"},
                               "threads 32-63 returned"},
                      Expected{Mistake::two_barriers,
                               FaultKind::divergent_barrier,
                               from_to(40, 63),
                               {"first of two"},
                               "threads 40-63 in sync_block at test_kernels.cuh:"}));

INSTANTIATE_TEST_SUITE_P(Collectives, Divergence,
                         ::testing::Values(Expected{Mistake::lane_returned,
                                                    FaultKind::missing_lane,
                                                    {33},
                                                    {"lane returned"},
                                                    "threads 32 and 34-63 in warp_sum"},
                                           Expected{Mistake::lane_at_barrier,
                                                    FaultKind::missing_lane,
                                                    {3},
                                                    {"lanes at shuffle"},
                                                    "thread 3 in sync_block"},
                                           Expected{Mistake::two_collectives,
                                                    FaultKind::missing_lane,
                                                    from_to(16, 31),
                                                    {"half of the warp"},
                                                    "threads 16-31 in warp_max"}));

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
TEST(MistakesDeathTest, PlainKernelsThatLeaveASharedArrayStopUnderAddressSanitizer) {
  std::vector<float> values(kMistakeBlocks * MistakeArgs::kThreads);
  const MistakeArgs args{Mistake::read_past_shared, kFaultyBlock, values.data(), nullptr};
  EXPECT_DEATH((void)Machine().run(code("mistake", &TestEntries::mistake),
                                   {{kMistakeBlocks, 1, 1}, MistakeArgs::kThreads}, &args),
               "use-after-poison");
}
#endif

// ---- Reports ------------------------------------------------------------------------------------

TEST_F(Mistakes, AKernelWithoutMistakesPasses) {
  EXPECT_FALSE(run(Mistake::none, true).has_value());
}

TEST_F(Mistakes, AReportFitsATerminal) {
  LaunchOptions options;
  options.seed = 17;
  const auto at = [](const char* mark) {
    return "test_kernels.cuh:" + std::to_string(line_with(mark).line) + "\n";
  };
  EXPECT_EQ(to_string(*run(Mistake::race_read_then_write, true)),
            "race in kernel 'mistake', block (2, 0, 0)\n"
            "  thread 0 at " +
                at("late write") + "  thread 1 at " + at("early read") +
                "  write, then read of 4 bytes at offset 0 of shared array 'tile' (256 bytes)\n"
                "  no barrier between them\n");
  EXPECT_EQ(to_string(*run(Mistake::barrier_in_branch, false, options)),
            "divergent barrier in kernel 'mistake', block (2, 0, 0)\n"
            "  thread 14 is missing at " +
                at("barrier in branch") + "  threads 0-13 and 15-63 in sync_block at " +
                at("barrier in branch") +
                "  thread 14 returned\n"
                "  schedule seed 17\n");
}

}  // namespace
}  // namespace forge::simt
