#include "forge/trace/cached_blocks.h"

namespace forge::trace {
namespace {

tl::unexpected<std::string> contradiction(BlockId block, const std::string& what) {
  return tl::unexpected("block " + std::to_string(block.value) + " of the prefix cache " + what);
}

}  // namespace

tl::expected<void, std::string> CachedBlocks::apply(const CacheDelta& delta) {
  if (delta.cleared) nodes_.clear();
  for (const BlockId block : delta.removed) {
    if (auto done = remove(block); !done) return done;
  }
  for (const StoredBlock& stored : delta.stored) {
    if (auto done = store(stored); !done) return done;
  }
  return {};
}

void CachedBlocks::begin(const std::vector<CachedBlock>& cached) {
  for (const CachedBlock& one : cached) {
    Node& node = nodes_[one.block];
    node.parent = one.parent;
    if (!one.parent) continue;
    Node& parent = nodes_.at(*one.parent);
    ++parent.children;
    node.place = parent.place + 1;
  }
}

tl::expected<void, std::string> CachedBlocks::remove(BlockId block) {
  const auto found = nodes_.find(block);
  if (found == nodes_.end()) return contradiction(block, "is removed and is not there");
  const Node& node = found->second;
  if (node.children > 0) return contradiction(block, "is removed before those after it");
  if (node.parent) --nodes_.at(*node.parent).children;
  nodes_.erase(found);
  return {};
}

tl::expected<void, std::string> CachedBlocks::store(const StoredBlock& stored) {
  if (nodes_.contains(stored.block)) return contradiction(stored.block, "is stored twice");
  if (stored.parent) {
    const auto parent = nodes_.find(*stored.parent);
    if (parent == nodes_.end()) {
      return contradiction(
          stored.block,
          "is stored after block " + std::to_string(stored.parent->value) + ", which is not there");
    }
    ++parent->second.children;
  }
  nodes_[stored.block] = {.parent = stored.parent, .seq = stored.seq, .place = stored.place};
  return {};
}

}  // namespace forge::trace
