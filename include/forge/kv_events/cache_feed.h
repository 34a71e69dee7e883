// CacheFeed: from what a step changed in the prefix index (core/cache_delta.h) to events.
//
//   Scheduler --CacheDelta: ids of blocks--> CacheFeed --KvEventBatch: hashes, tokens--> publisher
//                  PrefixIndex: tokens, salts ----^
//
// A delta names blocks by id, and an id is used again as soon as its block is forgotten. So the
// feed keeps the hash of each cached block, by id: 8 bytes a block. A block's hash is made of its
// parent's, which is why the feed must see every delta. It therefore comes before the queue that
// may drop a batch: a follower who misses one has a gap, but the hashes of later ones are right.
//
// Blocks that are stored one after the other, each the parent of the next, are one event: a prompt
// of 100 blocks is one chain, in one event.
//
// A salt is in the hash of its blocks and nowhere else: followers are not told it.
//
// Owns the hashes. Thread contract: none of its own; called on the thread that steps the scheduler,
// between two steps.
//
// Invariant: the hash of each cached block is prefix_hash(key, hash of its parent, its tokens), or
// of its salt where it has no parent.
#pragma once

#include <cstdint>
#include <vector>

#include "forge/core/cache_delta.h"
#include "forge/core/prefix_index.h"
#include "forge/core/scheduler_config.h"
#include "forge/core/siphash.h"
#include "forge/kv_events/kv_event.h"

namespace forge::kv_events {

class CacheFeed {
 public:
  /// Of a scheduler with this configuration, whose index is empty.
  explicit CacheFeed(const SchedulerConfig& config);

  /// The events of `delta`, in its order: cleared, removed, stored.
  /// Requires: `index` is as it was after the step; all earlier deltas have been followed. O(blocks
  /// of the delta).
  KvEventBatch follow(const CacheDelta& delta, const PrefixIndex& index, double timestamp);

 private:
  void remove(const std::vector<BlockId>& removed, KvEventBatch& batch) const;
  void store(const std::vector<StoredBlock>& stored, const PrefixIndex& index, KvEventBatch& batch);

  SipKey key_;
  std::uint32_t block_size_;
  std::vector<std::uint64_t> hashes_;  // of cached blocks, by id
};

}  // namespace forge::kv_events
