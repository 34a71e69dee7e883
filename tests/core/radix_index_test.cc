#include "forge/core/radix_index.h"

#include <gtest/gtest.h>

#include <array>

namespace forge {
namespace {

using Tokens = std::array<TokenId, 2>;

Tokens tokens_of(std::uint32_t first, std::uint32_t last) {
  return {TokenId{first}, TokenId{last}};
}

TEST(RadixIndex, tells_children_apart_that_end_alike) {
  RadixIndex index({.cache = {.num_blocks = 3, .block_size = 2}});
  index.insert(CacheSalt{}, tokens_of(1, 9), BlockId{0});
  index.insert(CacheSalt{}, tokens_of(256, 9), BlockId{1});  // 1 in another byte
  EXPECT_EQ(index.find(CacheSalt{}, tokens_of(1, 9)), BlockId{0});
  EXPECT_EQ(index.find(CacheSalt{}, tokens_of(256, 9)), BlockId{1});
  EXPECT_EQ(index.find(CacheSalt{}, tokens_of(0, 9)), std::nullopt);
}

/// Many children of the root, in ascending order of tokens, which makes a list of a plain search
/// tree: a treap of 2^17 is searched in a moment.
TEST(RadixIndex, finds_each_of_many_children_that_came_in_order) {
  constexpr std::uint32_t kChildren = 1 << 17;
  RadixIndex index({.cache = {.num_blocks = kChildren, .block_size = 2}});
  for (std::uint32_t i = 0; i < kChildren; ++i) {
    index.insert(CacheSalt{}, tokens_of(7, 2 * i), BlockId{i});
  }
  for (std::uint32_t i = 0; i < kChildren; ++i) {
    ASSERT_EQ(index.find(CacheSalt{}, tokens_of(7, 2 * i)), BlockId{i});
    ASSERT_EQ(index.find(CacheSalt{}, tokens_of(7, 2 * i + 1)), std::nullopt);
  }
}

}  // namespace
}  // namespace forge
