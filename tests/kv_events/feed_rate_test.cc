// How many blocks a second are told and encoded. scripts/prove serve wants a million; a run of the
// test suite takes it as it comes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>

#include "forge/kv_events/cache_feed.h"
#include "forge/kv_events/codec.h"
#include "kv_events/stored_prompts.h"
#include "serve/proof.h"

namespace forge::kv_events {
namespace {

using test::StoredPrompts;

constexpr std::uint32_t kBlocks = StoredPrompts::kBlocks;

double blocks_a_second(const StoredPrompts& prompts, KvEventFormat format, int rounds) {
  CacheFeed feed(StoredPrompts::kConfig);
  std::size_t bytes = 0;
  const auto begun = std::chrono::steady_clock::now();
  for (int round = 0; round < rounds; ++round) {
    for (const CacheDelta& delta : prompts.deltas) {
      bytes += encode(feed.follow(delta, *prompts.index, 1.5), format).size();
    }
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begun;
  EXPECT_GT(bytes, 50U * kBlocks * static_cast<unsigned>(rounds));
  return kBlocks * rounds / time.count();
}

TEST(FeedRate, a_million_blocks_a_second_are_told_and_encoded) {
  const StoredPrompts prompts(1);  // most events for the fewest blocks
  const int rounds = test::proof_seed() ? 100 : 1;
  for (const KvEventFormat format : {KvEventFormat::map, KvEventFormat::array}) {
    std::array<double, 5> rates{};
    for (double& rate : rates) rate = blocks_a_second(prompts, format, rounds);
    std::ranges::sort(rates);
    std::cout << rates[2] / 1e6 << " million blocks/s\n";
    if (test::proof_seed()) {
      EXPECT_GE(rates[2], 1e6);
    }
  }
  std::cout << "[  CASES   ] " << 10 * rounds * kBlocks << '\n';
}

}  // namespace
}  // namespace forge::kv_events
