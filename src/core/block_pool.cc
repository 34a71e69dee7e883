#include "forge/core/block_pool.h"

#include "forge/core/check.h"

namespace forge {

BlockPool::BlockPool(std::uint32_t size) : holders_(size, 0) {
  free_.reserve(size);
  for (std::uint32_t block = size; block > 0; --block) free_.emplace_back(block - 1);
}

std::uint32_t BlockPool::holders(BlockId block) const {
  FORGE_CHECK(block.value < size(), "block=", block.value, " size=", size());
  return holders_[block.value];
}

BlockId BlockPool::allocate() {
  FORGE_CHECK(!free_.empty(), "no free block of ", size());
  const BlockId block = free_.back();
  free_.pop_back();
  holders_[block.value] = 1;
  return block;
}

void BlockPool::acquire(BlockId block) {
  FORGE_CHECK(!is_free(block), "block ", block.value, " is free");
  ++holders_[block.value];
}

void BlockPool::release(BlockId block) {
  FORGE_CHECK(!is_free(block), "block ", block.value, " is free already");
  if (--holders_[block.value] == 0) free_.push_back(block);
}

}  // namespace forge
