// The stories that both prefix indices have to tell alike.
#include "forge/core/prefix_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string_view>

namespace forge {
namespace {

/// Prompts are texts, a token is a character, a block two of them.
std::vector<TokenId> tokens_of(std::string_view text) {
  std::vector<TokenId> tokens;
  for (const char c : text) tokens.emplace_back(static_cast<std::uint32_t>(c));
  return tokens;
}

using Ids = std::vector<std::uint32_t>;

Ids ids_of(const std::vector<BlockId>& blocks) {
  Ids ids;
  for (const BlockId block : blocks) ids.push_back(block.value);
  return ids;
}

/// The blocks that hold a prefix of `text` with this salt.
Ids match(const PrefixIndex& index, std::string_view text, CacheSalt salt = {}) {
  Ids found;
  PrefixParent parent = salt;
  for (; text.size() >= 2; text.remove_prefix(2)) {
    const auto block = index.find(parent, tokens_of(text.substr(0, 2)));
    if (!block) break;
    found.push_back(block->value);
    parent = *block;
  }
  return found;
}

class PrefixIndexTest : public testing::TestWithParam<PrefixCacheKind> {
 protected:
  /// Caches `text` in `blocks`; those that hold a prefix of it already are passed over.
  void insert(std::string_view text, const Ids& blocks, CacheSalt salt = {}) {
    PrefixParent parent = salt;
    for (const std::uint32_t id : blocks) {
      const BlockId block{id};
      if (!index->contains(block)) index->insert(parent, tokens_of(text.substr(0, 2)), block);
      parent = block;
      text.remove_prefix(2);
    }
  }
  void acquire(const Ids& blocks) {
    for (const std::uint32_t block : blocks) index->acquire(BlockId{block});
  }
  void release(const Ids& blocks) {
    for (const std::uint32_t block : blocks) index->release(BlockId{block});
  }
  Ids evict_all() {
    Ids evicted;
    while (const auto block = index->evict()) evicted.push_back(block->value);
    return evicted;
  }

  std::unique_ptr<PrefixIndex> index =
      make_prefix_index({.cache = {.num_blocks = 8, .block_size = 2}, .prefix_cache = GetParam()});
};

using PrefixIndexDeathTest = PrefixIndexTest;

TEST_P(PrefixIndexTest, finds_nothing_when_fresh) {
  EXPECT_EQ(match(*index, "aabb"), Ids{});
  EXPECT_EQ(index->evict(), std::nullopt);
  EXPECT_EQ(index->size(), 0u);
}

TEST_P(PrefixIndexTest, finds_the_longest_cached_prefix) {
  insert("aabbcc", {7, 2, 5});
  EXPECT_EQ(match(*index, "aabbcc"), (Ids{7, 2, 5}));
  EXPECT_EQ(match(*index, "aabbccdd"), (Ids{7, 2, 5}));
  EXPECT_EQ(match(*index, "aabbxx"), (Ids{7, 2}));
  EXPECT_EQ(match(*index, "aaxx"), (Ids{7}));
  EXPECT_EQ(match(*index, "ax"), Ids{});
}

TEST_P(PrefixIndexTest, finds_a_block_only_after_its_own_prefix) {
  insert("aabb", {0, 1});
  insert("xx", {2});
  EXPECT_EQ(match(*index, "bb"), Ids{});
  EXPECT_EQ(match(*index, "xxbb"), (Ids{2}));
}

TEST_P(PrefixIndexTest, two_prompts_share_the_blocks_of_their_common_prefix) {
  insert("ssaabb", {0, 1, 2});
  insert("ssxxyy", {0, 3, 4});
  EXPECT_EQ(match(*index, "ssaabb"), (Ids{0, 1, 2}));
  EXPECT_EQ(match(*index, "ssxxyy"), (Ids{0, 3, 4}));
  EXPECT_EQ(index->size(), 5u);
  EXPECT_EQ(index->parent(BlockId{0}), std::nullopt);
  EXPECT_EQ(index->parent(BlockId{3}), BlockId{0});
}

TEST_P(PrefixIndexTest, equal_tokens_after_different_prefixes_are_different_blocks) {
  insert("aaqq", {0, 1});
  insert("bbqq", {2, 3});
  EXPECT_EQ(match(*index, "aaqq"), (Ids{0, 1}));
  EXPECT_EQ(match(*index, "bbqq"), (Ids{2, 3}));
}

TEST_P(PrefixIndexTest, keeps_the_tokens_of_each_block) {
  insert("aabc", {6, 1});
  const auto tokens = index->tokens(BlockId{1});
  EXPECT_EQ(std::vector(tokens.begin(), tokens.end()), tokens_of("bc"));
}

TEST_P(PrefixIndexTest, never_evicts_a_used_block) {
  insert("aabb", {0, 1});
  EXPECT_EQ(index->evict(), std::nullopt);
  release({1});
  EXPECT_EQ(evict_all(), (Ids{1}));
  EXPECT_EQ(match(*index, "aabb"), (Ids{0}));
}

TEST_P(PrefixIndexTest, evicts_the_block_first_that_was_released_first) {
  insert("aa", {0});
  insert("bb", {1});
  insert("cc", {2});
  release({1, 2, 0});
  EXPECT_EQ(ids_of(index->unused()), (Ids{1, 2, 0}));
  EXPECT_EQ(evict_all(), (Ids{1, 2, 0}));
  EXPECT_EQ(index->size(), 0u);
}

TEST_P(PrefixIndexTest, a_block_that_was_taken_again_goes_to_the_end_of_the_queue) {
  insert("aa", {0});
  insert("bb", {1});
  insert("cc", {2});
  release({0, 1, 2});
  acquire({1});
  EXPECT_EQ(ids_of(index->unused()), (Ids{0, 2}));
  release({1});
  EXPECT_EQ(evict_all(), (Ids{0, 2, 1}));
}

TEST_P(PrefixIndexTest, evicts_leaves_before_the_blocks_above_them) {
  insert("ssaabb", {0, 1, 2});
  insert("ssxx", {0, 3});
  release({2, 1});  // the first prompt ends; the second still holds block 0 ...
  release({3, 0});  // ... and releases it last
  EXPECT_EQ(index->unused_count(), 4u);
  EXPECT_EQ(index->evict(), BlockId{2});
  EXPECT_EQ(match(*index, "ssaabb"), (Ids{0, 1}));
  EXPECT_EQ(evict_all(), (Ids{1, 3, 0}));
}

TEST_P(PrefixIndexTest, a_prefix_in_use_again_outlives_its_unused_suffix) {
  insert("ssaa", {0, 1});
  release({1, 0});
  acquire({0});
  EXPECT_EQ(evict_all(), (Ids{1}));
  EXPECT_EQ(match(*index, "ssaa"), (Ids{0}));
}

TEST_P(PrefixIndexTest, an_evicted_block_holds_other_tokens_elsewhere) {
  insert("aabb", {0, 1});
  release({1});
  ASSERT_EQ(index->evict(), BlockId{1});
  EXPECT_FALSE(index->contains(BlockId{1}));
  insert("xx", {1});
  EXPECT_EQ(match(*index, "aabb"), (Ids{0}));
  EXPECT_EQ(match(*index, "xxbb"), (Ids{1}));
}

TEST_P(PrefixIndexTest, a_prefix_that_was_evicted_can_come_back_in_another_block) {
  insert("aabb", {0, 1});
  release({1});
  ASSERT_EQ(index->evict(), BlockId{1});
  insert("aabb", {0, 5});
  EXPECT_EQ(match(*index, "aabb"), (Ids{0, 5}));
}

TEST_P(PrefixIndexTest, clear_forgets_used_and_unused_blocks) {
  insert("aabb", {0, 1});
  insert("xx", {2});
  release({1});
  index->clear();
  EXPECT_EQ(match(*index, "aabb"), Ids{});
  EXPECT_EQ(match(*index, "xx"), Ids{});
  EXPECT_EQ(index->blocks(), std::vector<BlockId>{});
  EXPECT_EQ(index->evict(), std::nullopt);
  insert("aaxx", {1, 0});
  EXPECT_EQ(match(*index, "aaxx"), (Ids{1, 0}));
}

TEST_P(PrefixIndexTest, fills_to_the_last_block) {
  insert("aabbccddeeffgghh", {7, 6, 5, 4, 3, 2, 1, 0});
  EXPECT_EQ(ids_of(index->blocks()), (Ids{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(match(*index, "aabbccddeeffgghh"), (Ids{7, 6, 5, 4, 3, 2, 1, 0}));
  release({0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(evict_all(), (Ids{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_P(PrefixIndexTest, a_block_whose_tokens_are_cached_already_is_not_inserted) {
  insert("aa", {0});
  EXPECT_EQ(index->insert(CacheSalt{}, tokens_of("aa"), BlockId{1}), BlockId{0});
  EXPECT_FALSE(index->contains(BlockId{1}));
  EXPECT_EQ(index->size(), 1u);
  EXPECT_EQ(index->insert(BlockId{0}, tokens_of("aa"), BlockId{1}), std::nullopt)
      << "after another prefix it is another block";
}

TEST_P(PrefixIndexTest, a_clone_lives_on_its_own) {
  insert("aabb", {0, 1});
  release({1});
  const auto clone = index->clone();
  EXPECT_EQ(clone->evict(), BlockId{1});
  clone->insert(CacheSalt{}, tokens_of("zz"), BlockId{3});
  EXPECT_EQ(match(*index, "aabb"), (Ids{0, 1}));
  EXPECT_EQ(match(*index, "zz"), Ids{});
  insert("qq", {4});
  EXPECT_EQ(match(*clone, "qq"), Ids{});
  EXPECT_EQ(match(*clone, "aabb"), (Ids{0}));
}

TEST_P(PrefixIndexTest, agrees_with_an_ordered_map_while_many_blocks_come_and_go) {
  constexpr std::uint32_t kBlocks = 200;
  index = make_prefix_index(
      {.cache = {.num_blocks = kBlocks, .block_size = 2}, .prefix_cache = GetParam()});
  std::mt19937 random(1);
  const auto draw = [&] { return TokenId{static_cast<std::uint32_t>(random() % 20)}; };
  std::map<std::vector<TokenId>, BlockId> model;
  for (int step = 0; step < 20'000; ++step) {
    const std::vector<TokenId> tokens{draw(), draw()};
    const auto known = model.find(tokens);
    ASSERT_EQ(index->find(CacheSalt{}, tokens),
              known == model.end() ? std::nullopt : std::optional(known->second));
    if (known != model.end()) continue;
    BlockId block{index->size()};
    if (index->size() == kBlocks) {
      block = *index->evict();
      std::erase_if(model, [&](const auto& entry) { return entry.second == block; });
    }
    index->insert(CacheSalt{}, tokens, block);
    index->release(block);
    model[tokens] = block;
  }
}

TEST_P(PrefixIndexTest, prefixes_with_another_salt_are_other_prefixes) {
  constexpr CacheSalt kMine{7};
  constexpr CacheSalt kYours{std::uint64_t{7} << 32};
  insert("aabb", {0, 1}, kMine);
  EXPECT_EQ(match(*index, "aabb", kMine), (Ids{0, 1}));
  EXPECT_EQ(match(*index, "aabb", kYours), Ids{});
  EXPECT_EQ(match(*index, "aabb"), Ids{});
  insert("aabb", {2, 3}, kYours);
  insert("aabb", {4, 5});
  EXPECT_EQ(match(*index, "aabb", kMine), (Ids{0, 1}));
  EXPECT_EQ(match(*index, "aabb", kYours), (Ids{2, 3}));
  EXPECT_EQ(match(*index, "aabb"), (Ids{4, 5}));
  EXPECT_EQ(index->salt(BlockId{1}), kMine) << "blocks below the first have its salt";
  EXPECT_EQ(index->salt(BlockId{3}), kYours);
  release({3, 2});
  EXPECT_EQ(evict_all(), (Ids{3, 2}));
  EXPECT_EQ(match(*index, "aabb", kMine), (Ids{0, 1}));
  EXPECT_EQ(match(*index, "aabb", kYours), Ids{});
}

TEST_P(PrefixIndexDeathTest, letting_go_of_a_block_before_one_below_it_aborts) {
  insert("aabb", {0, 1});
  EXPECT_DEATH(release({0}), "block 0 has 1 used children");
}

TEST_P(PrefixIndexDeathTest, letting_go_of_an_unused_block_aborts) {
  insert("aa", {0});
  release({0});
  EXPECT_DEATH(release({0}), "block 0 is unused already");
}

TEST_P(PrefixIndexDeathTest, taking_a_block_before_its_parent_aborts) {
  insert("aabb", {0, 1});
  release({1, 0});
  EXPECT_DEATH(acquire({1}), "parent 0 of block 1 is unused");
}

TEST_P(PrefixIndexDeathTest, taking_a_used_block_aborts) {
  insert("aa", {0});
  EXPECT_DEATH(acquire({0}), "block 0 is used already");
}

TEST_P(PrefixIndexDeathTest, using_a_block_that_is_not_cached_aborts) {
  EXPECT_DEATH(acquire({3}), "block 3 is not cached");
  EXPECT_DEATH(release({3}), "block 3 is not cached");
  EXPECT_DEATH(index->tokens(BlockId{3}), "block 3 is not cached");
  EXPECT_DEATH(index->parent(BlockId{3}), "block 3 is not cached");
  EXPECT_DEATH(index->salt(BlockId{3}), "block 3 is not cached");
  EXPECT_DEATH(index->find(BlockId{3}, tokens_of("aa")), "block 3 is not cached");
}

TEST_P(PrefixIndexDeathTest, naming_a_block_that_does_not_exist_aborts) {
  EXPECT_DEATH(index->contains(BlockId{8}), "block=8 num_blocks=8");
}

TEST_P(PrefixIndexDeathTest, inserting_a_cached_block_aborts) {
  insert("aa", {0});
  EXPECT_DEATH(index->insert(CacheSalt{}, tokens_of("bb"), BlockId{0}),
               "block 0 is cached already");
}

TEST_P(PrefixIndexDeathTest, inserting_below_an_unused_block_aborts) {
  insert("aa", {0});
  release({0});
  EXPECT_DEATH(index->insert(BlockId{0}, tokens_of("bb"), BlockId{1}),
               "parent 0 of block 1 is unused");
}

TEST_P(PrefixIndexDeathTest, half_a_block_of_tokens_aborts) {
  EXPECT_DEATH(index->find(CacheSalt{}, tokens_of("a")), "1 tokens, block_size=2");
  EXPECT_DEATH(index->insert(CacheSalt{}, tokens_of("aaa"), BlockId{0}), "3 tokens, block_size=2");
}

std::string name_of(const testing::TestParamInfo<PrefixCacheKind>& kind) {
  return kind.param == PrefixCacheKind::radix ? "radix" : "hash";
}
INSTANTIATE_TEST_SUITE_P(All, PrefixIndexTest,
                         testing::Values(PrefixCacheKind::radix, PrefixCacheKind::hash), name_of);
INSTANTIATE_TEST_SUITE_P(All, PrefixIndexDeathTest,
                         testing::Values(PrefixCacheKind::radix, PrefixCacheKind::hash), name_of);

TEST(MakePrefixIndexDeathTest, an_index_of_no_kind_aborts) {
  EXPECT_DEATH(make_prefix_index({.prefix_cache = PrefixCacheKind::none}),
               "the prefix cache is off");
}

}  // namespace
}  // namespace forge
