// How many blocks a second are told and encoded. scripts/prove serve wants a million; a run of the
// test suite takes it as it comes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <memory>
#include <random>
#include <vector>

#include "forge/core/prefix_index.h"
#include "forge/kv_events/cache_feed.h"
#include "forge/kv_events/codec.h"
#include "serve/proof.h"

namespace forge::kv_events {
namespace {

constexpr std::uint32_t kBlocks = 4096;
constexpr std::uint32_t kBlockSize = 16;
constexpr SchedulerConfig kFullCache{.cache = {.num_blocks = kBlocks, .block_size = kBlockSize},
                                     .prefix_cache = PrefixCacheKind::hash,
                                     .prefix_hash_key = 1};

/// An index full of blocks that begin prompts, and for each the change that puts it in the place of
/// another one: most events for the fewest blocks.
struct Changes {
  Changes() : index(make_prefix_index(kFullCache)) {
    std::mt19937 random(1);
    std::vector<TokenId> tokens(kBlockSize);
    for (std::uint32_t block = 0; block < kBlocks; ++block) {
      for (TokenId& token : tokens) token.value = random() % 128'000;
      index->insert(PrefixParent(), tokens, BlockId(block));
      CacheDelta& delta = deltas.emplace_back();
      delta.stored.push_back({.block = BlockId(block)});
      delta.removed.emplace_back(block);
    }
  }

  std::unique_ptr<PrefixIndex> index;
  std::vector<CacheDelta> deltas;
};

double blocks_a_second(const Changes& changes, KvEventFormat format, int rounds) {
  CacheFeed feed(kFullCache);
  std::size_t bytes = 0;
  const auto begun = std::chrono::steady_clock::now();
  for (int round = 0; round < rounds; ++round) {
    for (const CacheDelta& delta : changes.deltas) {
      bytes += encode(feed.follow(delta, *changes.index, 1.5), format).size();
    }
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begun;
  EXPECT_GT(bytes, 50U * kBlocks * static_cast<unsigned>(rounds));
  return kBlocks * rounds / time.count();
}

TEST(FeedRate, a_million_blocks_a_second_are_told_and_encoded) {
  const Changes changes;
  const int rounds = test::proof_seed() ? 100 : 1;
  for (const KvEventFormat format : {KvEventFormat::map, KvEventFormat::array}) {
    std::array<double, 5> rates{};
    for (double& rate : rates) rate = blocks_a_second(changes, format, rounds);
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
