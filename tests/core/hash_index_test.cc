#include "forge/core/hash_index.h"

#include <gtest/gtest.h>

namespace forge {
namespace {

using Tokens = std::vector<TokenId>;

/// All texts of three tokens out of four.
std::vector<Tokens> all_texts() {
  std::vector<Tokens> texts;
  for (std::uint32_t i = 0; i < 64; ++i) {
    texts.push_back({TokenId{i % 4}, TokenId{i / 4 % 4}, TokenId{i / 16}});
  }
  return texts;
}

/// Every block of 3 tokens after the root and after block 0, half of them cached.
class HashIndexTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  HashIndexTest() {
    for (std::uint32_t block = 0; block < 64; ++block) {
      const auto parent = block < 32 ? PrefixParent(CacheSalt{}) : PrefixParent(BlockId{0});
      index.insert(parent, texts[block % 32], BlockId{block});
    }
  }

  const std::vector<Tokens> texts = all_texts();
  HashIndex index{{.cache = {.num_blocks = 64, .block_size = 3}, .prefix_hash_key = 42},
                  GetParam()};
};

TEST_P(HashIndexTest, never_takes_one_block_for_another_however_many_hashes_collide) {
  for (std::uint32_t i = 0; i < 64; ++i) {
    const bool cached = i < 32;
    EXPECT_EQ(index.find(CacheSalt{}, texts[i]), cached ? std::optional(BlockId{i}) : std::nullopt);
    EXPECT_EQ(index.find(BlockId{0}, texts[i]),
              cached ? std::optional(BlockId{32 + i}) : std::nullopt);
    EXPECT_EQ(index.find(BlockId{1}, texts[i]), std::nullopt);
  }
}

TEST_P(HashIndexTest, finds_the_others_after_an_eviction_among_collisions) {
  for (std::uint32_t block = 63; block >= 32; --block) index.release(BlockId{block});
  for (std::uint32_t gone = 63; gone >= 32; --gone) {
    ASSERT_EQ(index.evict(), BlockId{gone});
    for (std::uint32_t block = 32; block < 64; ++block) {
      ASSERT_EQ(index.find(BlockId{0}, texts[block % 32]),
                block < gone ? std::optional(BlockId{block}) : std::nullopt);
    }
    for (std::uint32_t block = 0; block < 32; ++block) {
      ASSERT_EQ(index.find(CacheSalt{}, texts[block]), BlockId{block});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(HashBits, HashIndexTest, testing::Values(0, 1, 4, 64));

TEST(HashIndexDeathTest, more_bits_than_a_hash_has_abort) {
  EXPECT_DEATH(HashIndex({.cache = {.num_blocks = 1}}, 65), "hash_bits=65");
}

}  // namespace
}  // namespace forge
