// BlockPool: which physical blocks of the KV cache are free, and how many holders the others have.
//
// All blocks have one size, so any free block serves any sequence and the pool can
// never fragment externally (Kwon et al., "Efficient Memory Management for Large
// Language Model Serving with PagedAttention", SOSP 2023, section 4).
//
// A block may have several holders: the tables of sequences with a common prefix, the prefix
// index, a session. It is free again when the last one releases it.
//
// The free list is a stack: the block freed last is handed out first, which keeps
// recently touched memory in use and makes the order of blocks a pure function of
// the order of calls. A fresh pool hands out 0, 1, 2, ...
//
// Owns the free list and the counts; who the holders are is the cache's business.
// Thread contract: none of its own; the scheduler is the only user.
//
// Invariants
//   1. free_count() + used_count() == size().
//   2. The free list holds each block without holders once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forge/core/ids.h"

namespace forge {

class BlockPool {
 public:
  explicit BlockPool(std::uint32_t size);

  std::uint32_t size() const { return static_cast<std::uint32_t>(holders_.size()); }
  std::uint32_t free_count() const { return static_cast<std::uint32_t>(free_.size()); }
  std::uint32_t used_count() const { return size() - free_count(); }
  std::uint32_t holders(BlockId block) const;
  bool is_free(BlockId block) const { return holders(block) == 0; }

  /// Takes a free block, which then has one holder. Requires: free_count() > 0.
  BlockId allocate();

  /// Adds a holder. Requires: `block` has one already.
  void acquire(BlockId block);

  /// Removes a holder; a block without holders is free. Releasing a free block aborts.
  void release(BlockId block);

  /// The free list, bottom first: the last element is handed out next.
  std::span<const BlockId> free_list() const { return free_; }

 private:
  std::vector<BlockId> free_;
  std::vector<std::uint32_t> holders_;
};

}  // namespace forge
