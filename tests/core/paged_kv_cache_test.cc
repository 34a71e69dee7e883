#include "forge/core/paged_kv_cache.h"

#include <gtest/gtest.h>

#include "forge/core/must.h"

namespace forge {
namespace {

constexpr SeqId kA{1};
constexpr SeqId kB{2};
constexpr SeqId kC{3};

std::vector<std::uint32_t> table_of(const PagedKVCache& cache, SeqId seq) {
  std::vector<std::uint32_t> blocks;
  for (const BlockId block : must(cache.block_table(seq))) blocks.push_back(block.value);
  return blocks;
}

PagedKVCache cache_with(std::uint32_t blocks, std::uint32_t block_size,
                        std::initializer_list<std::pair<SeqId, std::uint32_t>> sequences) {
  PagedKVCache cache(blocks, block_size);
  for (const auto& [seq, tokens] : sequences) {
    must(cache.add(seq));
    must(cache.append(seq, tokens));
  }
  return cache;
}

TEST(PagedKVCache, defaults_to_512_blocks_of_16_slots) {
  const PagedKVCache cache;
  EXPECT_EQ(cache.pool().size(), 512u);
  EXPECT_EQ(cache.block_size(), 16u);
}

TEST(PagedKVCache, grows_lazily_one_block_when_the_slack_is_used_up) {
  PagedKVCache cache = cache_with(4, 16, {{kA, 1}});
  EXPECT_EQ(table_of(cache, kA).size(), 1u);
  for (int token = 2; token <= 16; ++token) EXPECT_EQ(must(cache.append(kA, 1)).appended, 0u);
  EXPECT_EQ(must(cache.append(kA, 1)).appended, 1u);
  EXPECT_EQ(must(cache.tokens(kA)), 17u);
}

TEST(PagedKVCache, needs_the_blocks_that_the_slack_does_not_cover) {
  const PagedKVCache cache = cache_with(8, 4, {{kA, 6}});  // two blocks, slack 2
  EXPECT_EQ(must(cache.blocks_needed(kA, 0)), 0u);
  EXPECT_EQ(must(cache.blocks_needed(kA, 2)), 0u);
  EXPECT_EQ(must(cache.blocks_needed(kA, 3)), 1u);
  EXPECT_EQ(must(cache.blocks_needed(kA, 6)), 1u);
  EXPECT_EQ(must(cache.blocks_needed(kA, 7)), 2u);
}

TEST(PagedKVCache, out_of_blocks_is_reported_and_leaves_state_intact) {
  PagedKVCache cache = cache_with(4, 2, {{kA, 3}, {kB, 2}});
  const auto before = table_of(cache, kA);
  const std::vector<BlockId> free_before(cache.pool().free_list().begin(),
                                         cache.pool().free_list().end());

  const auto refused = cache.append(kA, 4);

  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error(), CacheError(OutOfBlocks{.needed = 2, .available = 1}));
  EXPECT_EQ(to_string(refused.error()), "out of blocks: 2 needed, 1 available");
  EXPECT_EQ(table_of(cache, kA), before);
  EXPECT_EQ(must(cache.tokens(kA)), 3u);
  EXPECT_TRUE(std::ranges::equal(cache.pool().free_list(), free_before));
  EXPECT_EQ(must(cache.append(kA, 3)).appended, 1u) << "what fits still fits";
}

TEST(PagedKVCache, internal_fragmentation_is_bounded_by_block_size) {
  constexpr std::uint32_t kBlockSize = 16;
  for (std::uint32_t tokens = 1; tokens <= 100; ++tokens) {
    const PagedKVCache cache = cache_with(512, kBlockSize, {{kA, tokens}});
    const std::size_t slots = table_of(cache, kA).size() * kBlockSize;
    EXPECT_LT(slots - tokens, kBlockSize) << tokens;
  }
}

TEST(PagedKVCache, no_external_fragmentation_after_interleaved_free) {
  PagedKVCache cache(8, 2);
  for (std::uint64_t seq = 1; seq <= 8; ++seq) {
    must(cache.add(SeqId{seq}));
    must(cache.append(SeqId{seq}, 2));
  }
  for (std::uint64_t seq = 1; seq <= 8; seq += 2) must(cache.free(SeqId{seq}));
  ASSERT_EQ(cache.pool().free_count(), 4u);

  must(cache.add(SeqId{9}));
  EXPECT_EQ(must(cache.append(SeqId{9}, 8)).appended, 4u) << "every hole is usable";
  EXPECT_EQ(cache.pool().free_count(), 0u);
}

TEST(PagedKVCache, reuses_freshly_freed_blocks_first_and_in_the_same_order) {
  PagedKVCache cache = cache_with(8, 1, {{kA, 2}, {kB, 3}});
  EXPECT_EQ(table_of(cache, kB), (std::vector<std::uint32_t>{2, 3, 4}));
  must(cache.free(kB));
  must(cache.add(kC));
  must(cache.append(kC, 4));
  EXPECT_EQ(table_of(cache, kC), (std::vector<std::uint32_t>{2, 3, 4, 5}));
}

TEST(PagedKVCache, rollback_lets_go_of_the_blocks_that_the_shorter_sequence_does_not_need) {
  PagedKVCache cache = cache_with(8, 4, {{kA, 10}});
  EXPECT_EQ(must(cache.rollback(kA, 1)), 3u);  // 9 tokens: three blocks still
  EXPECT_EQ(must(cache.rollback(kA, 1)), 2u);  // 8 tokens: two
  EXPECT_EQ(must(cache.rollback(kA, 8)), 0u);
  EXPECT_EQ(must(cache.tokens(kA)), 0u);
  EXPECT_EQ(cache.pool().free_count(), 8u);
}

TEST(PagedKVCache, rollback_past_the_start_is_an_error_and_changes_nothing) {
  PagedKVCache cache = cache_with(8, 4, {{kA, 5}});
  const auto refused = cache.rollback(kA, 6);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error(), CacheError(RollbackTooLong{.tokens = 6, .held = 5}));
  EXPECT_EQ(must(cache.tokens(kA)), 5u);
}

TEST(PagedKVCache, unknown_and_duplicate_sequences_are_errors) {
  PagedKVCache cache = cache_with(4, 4, {{kA, 1}});
  const CacheError unknown = UnknownSequence{kB};
  EXPECT_EQ(cache.append(kB, 1).error(), unknown);
  EXPECT_EQ(cache.rollback(kB, 0).error(), unknown);
  EXPECT_EQ(cache.free(kB).error(), unknown);
  EXPECT_EQ(cache.tokens(kB).error(), unknown);
  EXPECT_EQ(cache.block_table(kB).error(), unknown);
  EXPECT_EQ(cache.blocks_needed(kB, 1).error(), unknown);
  EXPECT_EQ(cache.add(kA).error(), CacheError(DuplicateSequence{kA}));
  must(cache.free(kA));
  EXPECT_EQ(cache.free(kA).error(), CacheError(UnknownSequence{kA})) << "a double free";
}

TEST(PagedKVCache, same_calls_give_the_same_blocks) {
  const auto play = [] {
    PagedKVCache cache = cache_with(16, 2, {{kA, 5}, {kB, 3}});
    must(cache.rollback(kA, 3));
    must(cache.add(kC));
    must(cache.append(kC, 7));
    must(cache.free(kB));
    must(cache.append(kA, 4));
    return std::pair(table_of(cache, kA), table_of(cache, kC));
  };
  EXPECT_EQ(play(), play());
}

}  // namespace
}  // namespace forge
