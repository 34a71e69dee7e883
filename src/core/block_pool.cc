#include "forge/core/block_pool.h"

#include "forge/core/check.h"

namespace forge {

BlockPool::BlockPool(std::uint32_t size) : is_free_(size, true) {
  FORGE_CHECK(size > 0, "a pool needs at least one block");
  free_.reserve(size);
  for (std::uint32_t block = size; block > 0; --block) free_.emplace_back(block - 1);
}

bool BlockPool::is_free(BlockId block) const {
  FORGE_CHECK(block.value < size(), "block=", block.value, " size=", size());
  return is_free_[block.value];
}

BlockId BlockPool::allocate() {
  FORGE_CHECK(!free_.empty(), "no free block of ", size());
  const BlockId block = free_.back();
  free_.pop_back();
  is_free_[block.value] = false;
  return block;
}

void BlockPool::release(BlockId block) {
  FORGE_CHECK(!is_free(block), "block ", block.value, " is free already");
  is_free_[block.value] = true;
  free_.push_back(block);
}

}  // namespace forge
