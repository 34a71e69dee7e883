// CachedBlocks: the prefix cache at every step of a trace, rebuilt from its deltas alone
// (core/cache_delta.h): which block is found after which, and whose tokens it holds.
//
//   block   after   holds
//   7       -       tokens 0..3 of sequence 1
//   2       7       tokens 4..7 of sequence 1
//   9       7       tokens 4..7 of sequence 3
//
// What the tokens are is in the requests and results of these sequences.
//
// Owns the tree. Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/cache_delta.h"
#include "forge/core/scheduler_snapshot.h"

namespace forge::trace {

class CachedBlocks {
 public:
  struct Node {
    std::optional<BlockId> parent;
    SeqId seq;  ///< 0: one from before the trace begins, with a snapshot
    std::uint32_t place = 0;
    std::uint32_t children = 0;
  };

  /// Errors: a text naming what does not follow from the deltas before (a block that is removed and
  /// was not there, or has children; one that is stored twice, or after one that is not cached);
  /// the tree is then of no use.
  tl::expected<void, std::string> apply(const CacheDelta& delta);
  /// Begins with what a snapshot has. Requires: nothing is cached yet; a parent stands before its
  /// children.
  void begin(const std::vector<CachedBlock>& cached);

  /// By block.
  const std::map<BlockId, Node>& all() const { return nodes_; }

 private:
  tl::expected<void, std::string> remove(BlockId block);
  tl::expected<void, std::string> store(const StoredBlock& stored);

  std::map<BlockId, Node> nodes_;
};

}  // namespace forge::trace
