#include "forge/core/block_pool.h"

#include <gtest/gtest.h>

namespace forge {
namespace {

TEST(BlockPool, hands_out_blocks_in_order_when_fresh) {
  BlockPool pool(3);
  EXPECT_EQ(pool.allocate(), BlockId{0});
  EXPECT_EQ(pool.allocate(), BlockId{1});
  EXPECT_EQ(pool.allocate(), BlockId{2});
  EXPECT_EQ(pool.free_count(), 0u);
  EXPECT_EQ(pool.used_count(), 3u);
}

TEST(BlockPool, hands_out_the_block_freed_last_first) {
  BlockPool pool(4);
  for (int i = 0; i < 3; ++i) pool.allocate();
  pool.release(BlockId{0});
  pool.release(BlockId{2});
  EXPECT_EQ(pool.allocate(), BlockId{2});
  EXPECT_EQ(pool.allocate(), BlockId{0});
  EXPECT_EQ(pool.allocate(), BlockId{3});
}

TEST(BlockPoolDeathTest, freeing_a_free_block_aborts) {
  BlockPool pool(2);
  const BlockId block = pool.allocate();
  pool.release(block);
  EXPECT_DEATH(pool.release(block), "block 0 is free already");
}

TEST(BlockPoolDeathTest, freeing_a_block_that_does_not_exist_aborts) {
  BlockPool pool(2);
  EXPECT_DEATH(pool.release(BlockId{2}), "block=2 size=2");
}

TEST(BlockPoolDeathTest, allocating_from_an_empty_pool_aborts) {
  BlockPool pool(1);
  pool.allocate();
  EXPECT_DEATH(pool.allocate(), "no free block of 1");
}

}  // namespace
}  // namespace forge
