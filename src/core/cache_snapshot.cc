// PagedKVCache as a value, and back.
//
// A cache is rebuilt by its own operations: every block is taken, then those that are free are
// given back in their order; what the index, the tables and the pins hold is taken once more; at
// last the first hold of each block is let go, of the unused ones in the order in which they are to
// be evicted.
#include <set>
#include <utility>

#include "forge/core/check.h"
#include "forge/core/paged_kv_cache.h"

namespace forge {
namespace {

tl::unexpected<std::string> wrong(std::string text) { return tl::unexpected(std::move(text)); }

std::string name_of(BlockId block) { return "block " + std::to_string(block.value); }

/// All cached blocks, a parent before its children.
std::vector<BlockId> from_the_root(const PrefixIndex& index) {
  std::vector<BlockId> order;
  std::set<BlockId> told;
  std::vector<BlockId> path;
  for (const BlockId block : index.blocks()) {
    for (std::optional<BlockId> up = block; up && !told.contains(*up); up = index.parent(*up)) {
      path.push_back(*up);
    }
    for (; !path.empty(); path.pop_back()) {
      told.insert(path.back());
      order.push_back(path.back());
    }
  }
  return order;
}

}  // namespace

CacheSnapshot PagedKVCache::snapshot(std::span<const SeqId> sequences) const {
  CacheSnapshot snapshot;
  const auto free = pool_.free_list();
  snapshot.free.assign(free.begin(), free.end());
  for (const SeqId seq : sequences) {
    const Entry* entry = find(seq);
    if (entry == nullptr) continue;
    const bool publishes = entry->epoch == epoch_;
    snapshot.tables.push_back({.seq = seq,
                               .tokens = entry->tokens,
                               .published = publishes ? entry->published : 0,
                               .publishes = publishes,
                               .blocks = entry->table});
  }
  snapshot.changes = changes_;
  if (!index_) return snapshot;
  snapshot.unused = index_->unused();
  for (const BlockId block : from_the_root(*index_)) {
    const auto tokens = index_->tokens(block);
    snapshot.cached.push_back({.block = block,
                               .tokens = {tokens.begin(), tokens.end()},
                               .salt = index_->salt(block),
                               .parent = index_->parent(block)});
  }
  return snapshot;
}

PagedKVCache::Restored PagedKVCache::restore(const CacheSnapshot& snapshot,
                                             std::span<const BlockId> pinned) {
  FORGE_CHECK(sequence_count() == 0 && pool_.used_count() == 0, "the cache is in use");
  while (pool_.free_count() > 0) pool_.allocate();
  for (const BlockId block : snapshot.free) {
    if (!is_used(block))
      return wrong("free: " + name_of(block) + " is not there, or is there twice");
    pool_.release(block);
  }
  changes_ = snapshot.changes;
  for (const CachedBlock& cached : snapshot.cached) {
    if (auto done = restore(cached); !done) return done;
  }
  epoch_ = 1;
  for (const TableSnapshot& table : snapshot.tables) {
    if (auto done = restore(table); !done) return done;
  }
  for (const BlockId block : pinned) {
    if (!is_used(block)) return wrong("pinned: " + name_of(block) + " is not in use");
    pool_.acquire(block);
  }
  return let_go(snapshot.unused);
}

/// Is it a block of the pool that is not free?
bool PagedKVCache::is_used(BlockId block) const {
  return block.value < pool_.size() && !pool_.is_free(block);
}

PagedKVCache::Restored PagedKVCache::restore(const CachedBlock& cached) {
  const std::string name = "cached " + name_of(cached.block);
  if (!index_) return wrong(name + ": there is no prefix cache");
  if (!is_used(cached.block) || index_->contains(cached.block)) {
    return wrong(name + " is free, or is there twice");
  }
  if (cached.tokens.size() != block_size_) {
    return wrong(name + " has " + std::to_string(cached.tokens.size()) + " tokens, accepted are " +
                 std::to_string(block_size_));
  }
  PrefixParent parent = cached.salt;
  if (cached.parent) {
    if (cached.parent->value >= pool_.size() || !index_->contains(*cached.parent) ||
        index_->salt(*cached.parent) != cached.salt) {
      return wrong(name + ": its parent, " + name_of(*cached.parent) +
                   ", does not stand before it with the same salt");
    }
    parent = *cached.parent;
  }
  if (const auto equal = index_->insert(parent, cached.tokens, cached.block)) {
    return wrong(name + " has the tokens of " + name_of(*equal));
  }
  pool_.acquire(cached.block);
  ++insertions_;  // bounds what a new sequence may find (PrefixMemo)
  return {};
}

PagedKVCache::Restored PagedKVCache::restore(const TableSnapshot& table) {
  const std::string name = "table of sequence " + std::to_string(table.seq.value);
  if (contains(table.seq)) return wrong(name + " is there twice");
  if (table.blocks.size() != blocks_for(table.tokens)) {
    return wrong(name + " has " + std::to_string(table.blocks.size()) + " blocks for " +
                 std::to_string(table.tokens) + " tokens");
  }
  if (table.published > table.blocks.size() || (table.published > 0 && !table.publishes)) {
    return wrong(name + " has published " + std::to_string(table.published) + " blocks");
  }
  for (const BlockId block : table.blocks) {
    if (!is_used(block)) return wrong(name + ": " + name_of(block) + " is not in use");
    pool_.acquire(block);
  }
  for (std::uint32_t i = 0; i < table.published; ++i) {
    if (!index_ || !index_->contains(table.blocks[i])) {
      return wrong(name + ": " + name_of(table.blocks[i]) + " is published and not cached");
    }
  }
  Entry& entry = make_entry(table.seq);
  entry.tokens = table.tokens;
  entry.published = table.published;
  entry.table = table.blocks;
  if (!table.publishes) entry.epoch = 0;
  return {};
}

/// Of all blocks that are in use, the hold that restore() began with.
PagedKVCache::Restored PagedKVCache::let_go(const std::vector<BlockId>& unused) {
  std::size_t waiting = 0;
  for (BlockId block; block.value < pool_.size(); ++block.value) {
    if (pool_.is_free(block)) continue;
    if (pool_.holders(block) == 1) return wrong(name_of(block) + " is neither free nor held");
    const bool is_unused = pool_.holders(block) == 2 && index_ && index_->contains(block);
    if (is_unused) {
      ++waiting;
    } else {
      pool_.release(block);
    }
  }
  if (unused.size() != waiting || unused.size() > unused_max_) {
    return wrong("unused: " + std::to_string(unused.size()) + " blocks, " +
                 std::to_string(waiting) + " are cached and not held, at most " +
                 std::to_string(unused_max_) + " may be");
  }
  for (const BlockId block : unused) {
    const bool is_next = is_used(block) && pool_.holders(block) == 2 && index_ &&
                         index_->contains(block) && !index_->has_used_children(block);
    if (!is_next)
      return wrong("unused: " + name_of(block) + " is held, or stands before those after it");
    release(block);
  }
  return {};
}

}  // namespace forge
