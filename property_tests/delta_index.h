// DeltaIndex: what is cached, known from the deltas of the steps alone (core/cache_delta.h).
//
// A router of a cluster knows no more than this. Where it differs from the scheduler's index, a
// delta has left something out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "forge/core/cache_delta.h"
#include "forge/core/scheduler.h"

namespace forge::testing {

class DeltaIndex {
 public:
  /// Follows the step that `scheduler` has committed last, and compares. Returns: what differs.
  std::optional<std::string> follow(const Scheduler& scheduler) {
    if (auto wrong = apply(scheduler)) return wrong;
    const PrefixIndex* index = scheduler.cache().index();
    const std::uint32_t size = index != nullptr ? index->size() : 0;
    if (blocks_.size() != size) {
      return "the deltas say that " + std::to_string(blocks_.size()) + " blocks are cached, " +
             std::to_string(size) + " are";
    }
    for (const auto& [block, node] : blocks_) {
      const bool equal = index->contains(block) && index->parent(block) == node.parent &&
                         std::ranges::equal(index->tokens(block), node.tokens);
      if (!equal) return "the deltas say something else of " + name(block) + " than the index";
    }
    return std::nullopt;
  }

 private:
  struct Node {
    std::optional<BlockId> parent;
    std::vector<TokenId> tokens;
    std::uint32_t children = 0;
  };

  static std::string name(BlockId block) { return "block " + std::to_string(block.value); }

  std::optional<std::string> apply(const Scheduler& scheduler) {
    const CacheDelta& delta = scheduler.cache_delta();
    if (delta.cleared) blocks_.clear();
    for (const BlockId block : delta.removed) {
      const auto found = blocks_.find(block);
      if (found == blocks_.end()) return name(block) + " is removed and was not there";
      if (found->second.children > 0) return name(block) + " is removed before its children";
      if (found->second.parent) --blocks_.at(*found->second.parent).children;
      blocks_.erase(found);
    }
    const std::size_t block_size = scheduler.config().cache.block_size;
    for (const StoredBlock& stored : delta.stored) {
      if (stored.parent) {
        if (!blocks_.contains(*stored.parent)) return name(stored.block) + " has no parent there";
        ++blocks_.at(*stored.parent).children;
      }
      const auto of = scheduler.salted_tokens(stored.seq)->tokens;
      const auto tokens = of.subspan(stored.place * block_size, block_size);
      const Node node{.parent = stored.parent, .tokens = {tokens.begin(), tokens.end()}};
      if (!blocks_.emplace(stored.block, node).second) return name(stored.block) + " comes twice";
    }
    return std::nullopt;
  }

  std::map<BlockId, Node> blocks_;
};

}  // namespace forge::testing
