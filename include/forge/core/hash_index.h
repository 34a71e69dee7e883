// HashIndex: a prefix index that finds a block by a hash of its whole prefix.
//
// The hash is that of prefix_hash.h, chained from block to block, so one lookup costs the hashing
// of one block, however long the prefix is. It only says where to look: a block is a hit when its
// parent, its salt and its tokens are those asked for. By induction over the parents, the whole
// prefix is equal then. A collision costs time, never correctness; the key keeps strangers from
// preparing one (SchedulerConfig::prefix_hash_key).
//
// Open addressing with linear probing, at most half full, and backward-shift deletion (Knuth, TAOCP
// 3, 6.4, algorithm R), as in SeqMap. Never iterated: no decision depends on the order of the
// table.
//
// find, insert, evict: O(block_size), expected.
#pragma once

#include "forge/core/prefix_index.h"
#include "forge/core/siphash.h"

namespace forge {

class HashIndex final : public PrefixIndex {
 public:
  /// Keeps the lowest `hash_bits` bits of each hash: with few of them, all kinds of collisions
  /// happen; with 0 all hashes are equal. Requires: hash_bits at most 64.
  explicit HashIndex(const SchedulerConfig& config, std::uint32_t hash_bits = 64);
  std::unique_ptr<PrefixIndex> clone() const override;

 private:
  struct Entry {
    std::uint32_t hash = 0;  // low half of the block's: gives its home; compared first
    BlockId block;           // root() if the entry is empty
  };

  std::optional<BlockId> find_child(BlockId parent, const SaltedTokens& key) const override;
  std::optional<BlockId> link(BlockId parent, const SaltedTokens& key, BlockId block) override;
  void unlink(BlockId block) override;
  void unlink_all() override;

  std::uint64_t hash(BlockId parent, const SaltedTokens& key) const;
  /// The entry of the child of `parent` with this key, or the empty one for it.
  std::size_t locate(std::uint64_t hash, BlockId parent, const SaltedTokens& key) const;
  std::size_t home(std::uint32_t hash) const { return hash & (entries_.size() - 1); }
  std::size_t next(std::size_t i) const { return (i + 1) & (entries_.size() - 1); }

  SipKey key_;
  std::uint64_t hash_mask_;
  std::vector<std::uint64_t> hashes_;  // of cached blocks
  std::vector<Entry> entries_;         // size is a power of two
};

}  // namespace forge
