// PagedKVCache with a prefix index: what is shared, copied and given back.
#include <gtest/gtest.h>

#include "forge/core/must.h"
#include "forge/core/paged_kv_cache.h"

namespace forge {
namespace {

constexpr SeqId kA{1};
constexpr SeqId kB{2};
constexpr SeqId kC{3};

std::vector<TokenId> text(std::string_view letters) {
  std::vector<TokenId> tokens;
  for (const char letter : letters) tokens.emplace_back(static_cast<unsigned char>(letter));
  return tokens;
}

std::vector<std::uint32_t> table(const PagedKVCache& cache, SeqId seq) {
  std::vector<std::uint32_t> blocks;
  for (const BlockId block : must(cache.block_table(seq))) blocks.push_back(block.value);
  return blocks;
}

PagedKVCache cache_of(std::uint32_t num_blocks) {
  const SchedulerConfig config{.cache = {.num_blocks = num_blocks, .block_size = 2}};
  return PagedKVCache(num_blocks, 2, make_prefix_index(config));
}

PrefixMatch match(const PagedKVCache& cache, std::string_view letters, CacheSalt salt = {}) {
  PrefixMatch found;
  cache.match_prefix({salt, text(letters)}, found);
  return found;
}

/// A sequence that has run all its tokens.
void run(PagedKVCache& cache, SeqId seq, std::string_view letters, CacheSalt salt = {}) {
  const auto tokens = static_cast<std::uint32_t>(letters.size());
  must(cache.add(seq, match(cache, letters, salt), tokens));
  must(cache.publish(seq, {salt, text(letters)}, tokens));
}

TEST(PrefixSharing, finds_full_blocks_that_were_published) {
  PagedKVCache cache = cache_of(8);
  run(cache, kA, "abcde");
  EXPECT_EQ(match(cache, "abcdxy").tokens, 4u);
  EXPECT_EQ(match(cache, "abcdxy").shared, (std::vector<BlockId>{BlockId{0}, BlockId{1}}));
  EXPECT_EQ(match(cache, "abxy").tokens, 2u);
  EXPECT_EQ(match(cache, "xbcd").tokens, 0u) << "the same block after another prefix";
  EXPECT_EQ(match(cache, "abcdey").tokens, 4u) << "the last block of A is not full";
}

TEST(PrefixSharing, blocks_are_found_by_the_same_salt_alone) {
  PagedKVCache cache = cache_of(8);
  run(cache, kA, "abcde", CacheSalt{1});
  EXPECT_EQ(match(cache, "abcde", CacheSalt{1}).tokens, 4u);
  EXPECT_EQ(match(cache, "abcde", CacheSalt{2}).tokens, 0u);
  EXPECT_EQ(match(cache, "abcde").tokens, 0u);
  run(cache, kB, "abcde", CacheSalt{2});
  EXPECT_EQ(table(cache, kA), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(table(cache, kB), (std::vector<std::uint32_t>{3, 4, 5}));
}

TEST(PrefixSharing, blocks_are_found_only_after_they_are_published) {
  PagedKVCache cache = cache_of(8);
  must(cache.add(kA, {}, 4));
  EXPECT_EQ(match(cache, "abcde").tokens, 0u);
  must(cache.publish(kA, {{}, text("abcd")}, 3));  // three tokens are valid: one full block
  EXPECT_EQ(match(cache, "abcde").tokens, 2u);
}

TEST(PrefixSharing, two_tables_hold_the_same_blocks) {
  PagedKVCache cache = cache_of(8);
  run(cache, kA, "abcd");
  run(cache, kB, "abcdef");
  EXPECT_EQ(table(cache, kA), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(table(cache, kB), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(cache.pool().holders(BlockId{0}), 3u) << "two tables and the index";
  must(cache.free(kA));
  EXPECT_EQ(table(cache, kB), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(cache.available_count(), 5u);
}

TEST(PrefixSharing, when_all_tokens_are_cached_the_last_block_is_copied_but_for_one_token) {
  PagedKVCache cache = cache_of(8);
  run(cache, kA, "abcd");
  const PrefixMatch found = match(cache, "abcd");
  EXPECT_EQ(found.tokens, 3u);
  EXPECT_EQ(found.shared, (std::vector<BlockId>{BlockId{0}}));
  EXPECT_EQ(found.copied, BlockId{1});
  must(cache.add(kB, found, 4));
  EXPECT_EQ(table(cache, kB), (std::vector<std::uint32_t>{0, 2})) << "its own block to write to";
}

TEST(PrefixSharing, a_block_that_is_cached_already_gives_way) {
  PagedKVCache cache = cache_of(8);
  must(cache.add(kA, {}, 4));
  must(cache.add(kB, {}, 4));  // neither saw the other's prefix
  must(cache.publish(kA, {{}, text("abcd")}, 4));
  EXPECT_EQ(must(cache.publish(kB, {{}, text("abcd")}, 4)), 0u);
  EXPECT_EQ(table(cache, kB), table(cache, kA));
  EXPECT_EQ(cache.pool().used_count(), 2u) << "in memory once";
}

TEST(PrefixSharing, unused_blocks_stay_cached_until_their_memory_is_wanted) {
  PagedKVCache cache = cache_of(4);
  run(cache, kA, "abcd");
  must(cache.free(kA));
  EXPECT_EQ(cache.pool().free_count(), 2u);
  EXPECT_EQ(cache.available_count(), 4u);
  EXPECT_EQ(match(cache, "abcde").tokens, 4u);
  must(cache.add(kB, {}, 6));
  EXPECT_EQ(cache.evictions(), 1u);
  EXPECT_EQ(match(cache, "abcde").tokens, 2u) << "the end of the prefix goes first";
}

TEST(PrefixSharing, a_match_counts_the_unused_blocks_that_it_takes) {
  PagedKVCache cache = cache_of(4);
  run(cache, kA, "abcd");
  EXPECT_EQ(cache.blocks_needed(match(cache, "abcdef"), 6), 1u) << "shared with A";
  must(cache.free(kA));
  EXPECT_EQ(cache.blocks_needed(match(cache, "abcdef"), 6), 3u) << "all of them from available";
}

TEST(PrefixSharing, out_of_blocks_leaves_everything_as_it_was) {
  PagedKVCache cache = cache_of(3);
  run(cache, kA, "abcd");
  must(cache.free(kA));
  const PrefixMatch found = match(cache, "abcd");  // one to share, one to copy, one new
  EXPECT_EQ(cache.blocks_needed(found, 4), 3u);
  must(cache.add(kB));
  must(cache.append(kB, 1));
  const auto refused = cache.add(kC, found, 4);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error(), CacheError(OutOfBlocks{.needed = 3, .available = 2}));
  EXPECT_FALSE(cache.contains(kC));
  EXPECT_EQ(match(cache, "abcd").tokens, 3u);
}

TEST(PrefixSharing, pins_hold_a_path_after_its_sequence_has_gone) {
  PagedKVCache cache = cache_of(4);
  run(cache, kA, "abcde");
  std::vector<BlockId> pinned;
  must(cache.pin(kA, pinned));
  must(cache.free(kA));
  EXPECT_EQ(pinned.size(), 2u);
  EXPECT_EQ(cache.available_count(), 2u);
  cache.unpin(pinned);
  EXPECT_EQ(cache.available_count(), 4u);
}

TEST(PrefixSharing, clearing_the_index_frees_what_nobody_holds) {
  PagedKVCache cache = cache_of(8);
  run(cache, kA, "abcd");
  run(cache, kB, "efgh");
  must(cache.free(kA));
  cache.clear_index();
  EXPECT_EQ(cache.pool().used_count(), 2u);
  EXPECT_EQ(match(cache, "efghi").tokens, 0u);
  EXPECT_EQ(must(cache.publish(kB, {{}, text("efgh")}, 4)), std::nullopt);
  EXPECT_EQ(match(cache, "efghi").tokens, 0u) << "B was there before: it publishes no more";
  must(cache.free(kB));
  EXPECT_EQ(cache.pool().used_count(), 0u);
}

TEST(PrefixSharing, published_blocks_are_not_rolled_back) {
  PagedKVCache cache = cache_of(8);
  run(cache, kA, "abcd");
  must(cache.append(kA, 3));
  EXPECT_EQ(must(cache.rollback(kA, 3)), 2u);
  EXPECT_EQ(cache.rollback(kA, 1).error(), CacheError(RollbackTooLong{.tokens = 1, .held = 0}));
}

TEST(PrefixSharing, copies_of_a_cache_are_independent) {
  PagedKVCache cache = cache_of(4);
  run(cache, kA, "abcd");
  PagedKVCache copy = cache;
  must(copy.free(kA));
  copy.clear_index();
  EXPECT_EQ(copy.pool().used_count(), 0u);
  EXPECT_EQ(match(cache, "abcde").tokens, 4u);
}

}  // namespace
}  // namespace forge
