#include "forge/kv_events/cache_feed.h"

#include <gtest/gtest.h>

#include "forge/core/prefix_hash.h"

namespace forge::kv_events {
namespace {

using Tokens = std::vector<TokenId>;
using Events = std::vector<KvEvent>;

constexpr SchedulerConfig kConfig{.cache = {.num_blocks = 8, .block_size = 2},
                                  .prefix_cache = PrefixCacheKind::radix,
                                  .prefix_hash_key = 42};
constexpr double kNow = 7;

/// An index whose changes are written down by hand, and their feed.
class CacheFeedTest : public testing::Test {
 protected:
  /// The block becomes one of the index and of the delta.
  void store(std::uint32_t block, PrefixParent parent, Tokens tokens) {
    ASSERT_EQ(index->insert(parent, tokens, BlockId{block}), std::nullopt);
    StoredBlock stored{.block = BlockId{block}};
    if (const auto* const id = std::get_if<BlockId>(&parent)) stored.parent = *id;
    delta.stored.push_back(stored);
  }
  void forget_first_released() { delta.removed.push_back(index->evict().value()); }

  Events follow() {
    const KvEventBatch batch = feed.follow(delta, *index, kNow);
    delta = {};
    return batch.events;
  }

  static std::uint64_t hash(std::uint64_t before, const Tokens& tokens) {
    return prefix_hash({.k0 = 42}, before, tokens);
  }

  const Tokens a{TokenId{1}, TokenId{2}};
  const Tokens b{TokenId{3}, TokenId{4}};
  const Tokens c{TokenId{5}, TokenId{6}};
  const std::uint64_t hash_a = hash(0, a);
  const std::uint64_t hash_ab = hash(hash_a, b);
  std::unique_ptr<PrefixIndex> index = make_prefix_index(kConfig);
  CacheFeed feed{kConfig};
  CacheDelta delta;
};

TEST_F(CacheFeedTest, a_chain_is_one_event_and_the_first_block_has_no_parent) {
  store(5, CacheSalt{}, a);
  store(2, BlockId{5}, b);
  const BlockStored chain{.hashes = {hash_a, hash_ab},
                          .tokens = {TokenId{1}, TokenId{2}, TokenId{3}, TokenId{4}},
                          .block_size = 2};
  EXPECT_EQ(follow(), Events{chain});
}

TEST_F(CacheFeedTest, a_branch_is_another_event_with_the_parent_of_both) {
  store(5, CacheSalt{}, a);
  store(2, BlockId{5}, b);
  store(3, BlockId{5}, c);
  const BlockStored branch{
      .hashes = {hash(hash_a, c)}, .parent = hash_a, .tokens = c, .block_size = 2};
  const Events events = follow();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1], KvEvent(branch));
}

TEST_F(CacheFeedTest, a_chain_goes_on_in_a_later_step) {
  store(5, CacheSalt{}, a);
  follow();
  store(2, BlockId{5}, b);
  EXPECT_EQ(
      follow(),
      (Events{BlockStored{.hashes = {hash_ab}, .parent = hash_a, .tokens = b, .block_size = 2}}));
}

TEST_F(CacheFeedTest, a_block_that_is_used_anew_has_another_name) {
  store(5, CacheSalt{}, a);
  follow();
  index->release(BlockId{5});
  forget_first_released();
  store(5, CacheSalt{}, c);
  EXPECT_EQ(follow(), (Events{BlockRemoved{{hash_a}},
                              BlockStored{.hashes = {hash(0, c)}, .tokens = c, .block_size = 2}}));
}

TEST_F(CacheFeedTest, equal_tokens_in_another_block_have_the_same_name) {
  store(5, CacheSalt{}, a);
  follow();
  index->release(BlockId{5});
  forget_first_released();
  follow();
  store(1, CacheSalt{}, a);
  EXPECT_EQ(std::get<BlockStored>(follow().at(0)).hashes, std::vector{hash_a});
}

TEST_F(CacheFeedTest, with_another_salt_every_block_has_another_name) {
  store(5, CacheSalt{9}, a);
  store(2, BlockId{5}, b);
  const std::uint64_t salted = hash(9, a);
  EXPECT_EQ(std::get<BlockStored>(follow().at(0)).hashes, (std::vector{salted, hash(salted, b)}));
}

TEST_F(CacheFeedTest, what_was_cleared_comes_before_what_is_stored_again) {
  store(5, CacheSalt{}, a);
  follow();
  index->clear();
  delta.cleared = true;
  store(6, CacheSalt{}, a);
  const Events events = follow();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0], KvEvent(AllBlocksCleared()));
  EXPECT_EQ(std::get<BlockStored>(events[1]).hashes, std::vector{hash_a});
}

TEST_F(CacheFeedTest, a_batch_has_the_time_of_its_step) {
  EXPECT_EQ(feed.follow({}, *index, kNow), (KvEventBatch{.timestamp = kNow}));
}

}  // namespace
}  // namespace forge::kv_events
