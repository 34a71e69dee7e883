// PagedKVCache: which block holds which token's keys and values, and which sequences share it.
//
// Each sequence has a block table: the physical blocks of its tokens in order of
// position. Token p of a sequence lives in slot p % block_size of block
// table[p / block_size]. Tables grow lazily, so a sequence wastes at most
// block_size - 1 slots.
//
//   tokens      0  1  2  3 | 4  5  6  7 | 8  9            block_size 4
//   table            7     |     2      |    5  _  _      slack = 3 * 4 - 10 = 2
//
// With a prefix index, full blocks of valid KV are published and found by other sequences:
//
//   match_prefix   the cached blocks that hold a prefix of some tokens, with their salt
//   add(match)     a new table that starts with them. One token of a prompt must always run, so
//                  when all its blocks are cached, the last one is not shared but copied, all but
//                  one token of it: copy-on-write, because the last token will be written there
//   publish        makes blocks findable once the step that filled them has been committed. A
//                  block whose tokens are cached already gives way to the cached one, so equal
//                  prefixes are in memory once
//
// A published block is full and never written again; every other block has one table.
//
// This is bookkeeping: numbers of tokens and ids of blocks. The floats live in a
// target's KV pool, which follows the plans.
//
// Every operation either happens or returns a CacheError and changes nothing.
//
// Owns the pool, the tables and the index. A value: copies are independent. Thread contract: none
// of its own.
//
// Invariants
//   1. The holders of a block are the tables that contain it, the index if it is cached, and
//      the pins.
//   2. A sequence of n tokens holds exactly ceil(n / block_size) blocks.
//   3. A block in two tables is cached; the published blocks of a table are a path of the index.
//   4. Same calls, same blocks.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

#include "forge/core/block_pool.h"
#include "forge/core/cache_delta.h"
#include "forge/core/prefix_index.h"
#include "forge/core/scheduler_snapshot.h"
#include "forge/core/seq_map.h"

namespace forge {

/// The pool is short: `needed` blocks were asked for, `available` are free or cached and unused.
struct OutOfBlocks {
  std::uint32_t needed = 0;
  std::uint32_t available = 0;
  friend bool operator==(const OutOfBlocks&, const OutOfBlocks&) = default;
};
struct UnknownSequence {
  SeqId seq;
  friend bool operator==(const UnknownSequence&, const UnknownSequence&) = default;
};
struct DuplicateSequence {
  SeqId seq;
  friend bool operator==(const DuplicateSequence&, const DuplicateSequence&) = default;
};
/// More tokens were to be rolled back than the sequence has, or than are unpublished.
struct RollbackTooLong {
  std::uint32_t tokens = 0;
  std::uint32_t held = 0;  ///< tokens that could be: those behind the published blocks
  friend bool operator==(const RollbackTooLong&, const RollbackTooLong&) = default;
};

using CacheError = std::variant<OutOfBlocks, UnknownSequence, DuplicateSequence, RollbackTooLong>;
std::string to_string(const CacheError& error);

/// What match_prefix() found: valid until the cache changes.
struct PrefixMatch {
  std::vector<BlockId> shared;    ///< full blocks that the new table may start with
  std::optional<BlockId> copied;  ///< the block after them, to be copied without its last token
  std::uint32_t tokens = 0;       ///< tokens whose KV these blocks hold

  void clear();
  /// Removes `copied` from the match.
  void drop_copy(std::uint32_t block_size);
};

/// A table after it has grown: its last `appended` blocks are new.
struct GrownTable {
  std::span<const BlockId> blocks;  ///< valid until the next call that changes the sequence
  std::uint32_t appended = 0;
};

class PagedKVCache {
 public:
  /// Of blocks that no table or pin holds, the index keeps `unused_max` at most. Requires:
  /// block_size at least 1.
  explicit PagedKVCache(std::uint32_t num_blocks = 512, std::uint32_t block_size = 16,
                        std::unique_ptr<PrefixIndex> index = nullptr,
                        std::uint32_t unused_max = std::numeric_limits<std::uint32_t>::max());
  PagedKVCache(const PagedKVCache& other);
  PagedKVCache(PagedKVCache&&) = default;
  PagedKVCache& operator=(const PagedKVCache& other);
  PagedKVCache& operator=(PagedKVCache&&) = default;

  /// Adds a sequence with no tokens and no blocks.
  /// Errors: DuplicateSequence.
  tl::expected<void, CacheError> add(SeqId seq);

  /// The longest cached prefix of the tokens with their salt, without the last of them. O(blocks
  /// found).
  void match_prefix(SaltedTokens of, PrefixMatch& match) const;

  /// The number of available blocks that a new sequence with room for `tokens` tokens takes: the
  /// blocks that it does not share, and the blocks of the match that are unused.
  std::uint32_t blocks_needed(const PrefixMatch& match, std::uint32_t tokens) const;

  /// Adds a sequence with room for `tokens` tokens that starts with the blocks of `match`. Returns
  /// its table. If the match has a block to copy, the copy goes to the first block that is not
  /// shared.
  /// Errors: OutOfBlocks, DuplicateSequence.
  tl::expected<std::span<const BlockId>, CacheError> add(SeqId seq, const PrefixMatch& match,
                                                         std::uint32_t tokens);

  /// Makes room for `tokens` more tokens.
  /// Errors: OutOfBlocks, UnknownSequence. O(blocks taken).
  tl::expected<GrownTable, CacheError> append(SeqId seq, std::uint32_t tokens);

  /// Makes the full blocks of the first `valid` tokens of `seq` findable, unless the index has been
  /// cleared since `seq` was added (then its blocks may not continue a path of the index). `of` has
  /// the tokens of `seq`, at least `valid`, and the salt that it was matched with. Returns: the
  /// first place of the table that changed, if one did.
  /// Requires: an index. Errors: UnknownSequence. O(blocks not published yet).
  tl::expected<std::optional<std::uint32_t>, CacheError> publish(SeqId seq, SaltedTokens of,
                                                                 std::uint32_t valid);

  /// Forgets the last `tokens` tokens and releases the blocks that the shorter sequence does
  /// not need. Returns the length of the table.
  /// Errors: UnknownSequence, RollbackTooLong.
  tl::expected<std::uint32_t, CacheError> rollback(SeqId seq, std::uint32_t tokens);

  /// Releases all blocks of `seq`, last block first (so that the first is handed out next), and
  /// forgets it. Errors: UnknownSequence.
  tl::expected<void, CacheError> free(SeqId seq);

  /// Holds the published blocks of `seq` a second time, until unpin() is called with the list
  /// that is written over `pinned`. Errors: UnknownSequence.
  tl::expected<void, CacheError> pin(SeqId seq, std::vector<BlockId>& pinned);
  void unpin(std::span<const BlockId> pinned);

  /// Forgets all published blocks; those that no table or session holds are free again. Sequences
  /// that exist already publish nothing any more.
  void clear_index();

  /// The number of blocks that append(seq, extra_tokens) would take: 0 while the tokens fit in the
  /// slack (held * block_size - tokens), else ceil((extra_tokens - slack) / block_size).
  /// Errors: UnknownSequence.
  tl::expected<std::uint32_t, CacheError> blocks_needed(SeqId seq,
                                                        std::uint32_t extra_tokens) const;

  /// The number of blocks of a sequence of `tokens` tokens.
  std::uint32_t blocks_for(std::uint32_t tokens) const;

  /// The number of blocks that an append may take: free ones, and cached ones that are unused.
  std::uint32_t available_count() const {
    return pool_.free_count() + (index_ ? index_->unused_count() : 0);
  }

  bool contains(SeqId seq) const { return entry_of_.find(seq).has_value(); }
  /// Errors: UnknownSequence.
  tl::expected<std::uint32_t, CacheError> tokens(SeqId seq) const;
  tl::expected<std::span<const BlockId>, CacheError> block_table(SeqId seq) const;
  /// The number of leading blocks of the table that are published.
  tl::expected<std::uint32_t, CacheError> published(SeqId seq) const;
  /// False if the index has been cleared since `seq` was added.
  tl::expected<bool, CacheError> publishes(SeqId seq) const;

  std::size_t sequence_count() const { return entry_of_.size(); }
  std::uint32_t block_size() const { return block_size_; }
  const BlockPool& pool() const { return pool_; }
  const PrefixIndex* index() const { return index_.get(); }  ///< null without prefix caching
  std::uint64_t insertions() const { return insertions_; }   ///< blocks published so far
  std::uint64_t evictions() const { return evictions_; }     ///< cached blocks given up so far

  /// The blocks and the tables of `sequences`, but for those of them that have none.
  CacheSnapshot snapshot(std::span<const SeqId> sequences) const;
  /// Goes on from a snapshot. `pinned`: all that is pinned, a list after the other; pins of the
  /// same block are told several times. Requires: no call has changed the cache yet.
  /// Errors: what in the snapshot is no state of such a cache; the cache is then of no use. Whose
  /// tokens a block holds is not asked.
  tl::expected<void, std::string> restore(const CacheSnapshot& snapshot,
                                          std::span<const BlockId> pinned);

  /// What has changed in the index since take_changes() was called, which writes it over `changes`
  /// and begins anew.
  const CacheDelta& changes() const { return changes_; }
  void take_changes(CacheDelta& changes);

 private:
  struct Entry {
    std::uint32_t tokens = 0;
    std::uint32_t published = 0;  // leading blocks that are a path of the index ...
    std::uint64_t epoch = 0;      // ... as long as it has not been cleared since
    std::vector<BlockId> table;
  };

  Entry* find(SeqId seq);
  const Entry* find(SeqId seq) const;
  Entry& make_entry(SeqId seq);
  std::uint32_t blocks_needed(const Entry& entry, std::uint32_t extra_tokens) const;
  bool is_unused(BlockId block) const;
  BlockId allocate();
  void evict();
  void acquire(BlockId block);
  void release(BlockId block);
  void grow(Entry& entry, std::uint32_t blocks);

  using Restored = tl::expected<void, std::string>;
  bool is_used(BlockId block) const;
  Restored restore(const CachedBlock& cached);
  Restored restore(const TableSnapshot& table);
  Restored let_go(const std::vector<BlockId>& unused);

  std::uint32_t block_size_;
  std::uint32_t unused_max_;
  BlockPool pool_;
  std::unique_ptr<PrefixIndex> index_;
  std::uint64_t epoch_ = 0;  // how often the index was cleared
  std::uint64_t insertions_ = 0;
  std::uint64_t evictions_ = 0;
  CacheDelta changes_;
  SeqMap entry_of_;
  std::vector<Entry> entries_;  // tables of freed sequences keep their memory for the next
  std::vector<std::uint32_t> free_entries_;
};

}  // namespace forge
