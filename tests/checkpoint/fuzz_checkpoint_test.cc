// What fuzz_checkpoint.cc does under libFuzzer, for every compiler: golden checkpoints, changed at
// random, the same ones in every run.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "checkpoint/load_damaged.h"

namespace forge::testing {
namespace {

std::vector<std::uint8_t> bytes_of_index(std::size_t index) {
  return {static_cast<std::uint8_t>(index >> 8), static_cast<std::uint8_t>(index)};
}

TEST(FuzzCheckpoint, every_golden_one_runs_unchanged) {
  EXPECT_EQ(golden_count(), 57u);
  for (std::size_t index = 0; index < golden_count(); ++index) {
    EXPECT_TRUE(load_damaged(bytes_of_index(index))) << index;
  }
}

TEST(FuzzCheckpoint, damaged_ones_run_or_are_refused_in_words) {
  std::mt19937 random(20);
  int ran = 0;
  constexpr int kRounds = 1500;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::uint8_t> bytes = bytes_of_index(random() % golden_count());
    for (std::size_t i = 6 + random() % 20; i > 0; --i) {
      bytes.push_back(static_cast<std::uint8_t>(random()));
    }
    SCOPED_TRACE("round " + std::to_string(round));
    ran += int{load_damaged(bytes)};
  }
  EXPECT_GT(ran, kRounds / 10) << "changes that are no damage";
  EXPECT_LT(ran, kRounds * 9 / 10);
}

}  // namespace
}  // namespace forge::testing
