// BlockPool: which physical blocks of the KV cache are free.
//
// All blocks have one size, so any free block serves any sequence and the pool can
// never fragment externally (Kwon et al., "Efficient Memory Management for Large
// Language Model Serving with PagedAttention", SOSP 2023, section 4).
//
// The free list is a stack: the block freed last is handed out first, which keeps
// recently touched memory in use and makes the order of blocks a pure function of
// the order of calls. A fresh pool hands out 0, 1, 2, ...
//
// Owns the free list and nothing else; who holds a block is the cache's business.
// Thread contract: none of its own; the scheduler is the only user.
//
// Invariants
//   1. free_count() + used_count() == size().
//   2. The free list holds each free block once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forge/core/ids.h"

namespace forge {

class BlockPool {
 public:
  explicit BlockPool(std::uint32_t size);

  std::uint32_t size() const { return static_cast<std::uint32_t>(is_free_.size()); }
  std::uint32_t free_count() const { return static_cast<std::uint32_t>(free_.size()); }
  std::uint32_t used_count() const { return size() - free_count(); }
  bool is_free(BlockId block) const;

  /// Requires: free_count() > 0.
  BlockId allocate();

  /// Requires: `block` is in use. Freeing a free block aborts.
  void release(BlockId block);

  /// The free list, bottom first: the last element is handed out next.
  std::span<const BlockId> free_list() const { return free_; }

 private:
  std::vector<BlockId> free_;
  std::vector<bool> is_free_;
};

}  // namespace forge
