// PagedKVCache: which block holds which token's keys and values.
//
// Each sequence has a block table: the physical blocks of its tokens in order of
// position. Token p of a sequence lives in slot p % block_size of block
// table[p / block_size]. Tables grow lazily, so a sequence wastes at most
// block_size - 1 slots.
//
//   tokens      0  1  2  3 | 4  5  6  7 | 8  9            block_size 4
//   table            7     |     2      |    5  _  _      slack = 3 * 4 - 10 = 2
//
// This is bookkeeping: numbers of tokens and ids of blocks. The floats live in a
// target's KV pool, which follows the plans.
//
// Every operation either happens or returns a CacheError and changes nothing.
//
// Owns the pool and the tables. Thread contract: none of its own.
//
// Invariants
//   1. A block is in exactly one table or in the free list.
//   2. A sequence of n tokens holds exactly ceil(n / block_size) blocks.
//   3. Same calls, same blocks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

#include "forge/core/block_pool.h"
#include "forge/core/seq_map.h"

namespace forge {

/// The pool is short: `needed` blocks were asked for, `free` are there.
struct OutOfBlocks {
  std::uint32_t needed = 0;
  std::uint32_t free = 0;
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
/// More tokens were to be rolled back than the sequence has.
struct RollbackTooLong {
  std::uint32_t tokens = 0;
  std::uint32_t held = 0;
  friend bool operator==(const RollbackTooLong&, const RollbackTooLong&) = default;
};

using CacheError = std::variant<OutOfBlocks, UnknownSequence, DuplicateSequence, RollbackTooLong>;
std::string to_string(const CacheError& error);

class PagedKVCache {
 public:
  /// Requires: both at least 1.
  explicit PagedKVCache(std::uint32_t num_blocks = 512, std::uint32_t block_size = 16);

  /// A new sequence with no tokens and no blocks.
  /// Errors: DuplicateSequence.
  tl::expected<void, CacheError> add(SeqId seq);

  /// Room for `tokens` more tokens. Returns the blocks that were taken for them, in table
  /// order; the view is valid until the next call that changes `seq`.
  /// Errors: OutOfBlocks, UnknownSequence. O(blocks taken).
  tl::expected<std::span<const BlockId>, CacheError> append(SeqId seq, std::uint32_t tokens);

  /// Forgets the last `tokens` tokens and frees the blocks that the shorter sequence does
  /// not need. Returns how many were freed.
  /// Errors: UnknownSequence, RollbackTooLong.
  tl::expected<std::uint32_t, CacheError> rollback(SeqId seq, std::uint32_t tokens);

  /// Frees all blocks of `seq`, last block first (so that the first is handed out next),
  /// and forgets it. Errors: UnknownSequence.
  tl::expected<void, CacheError> free(SeqId seq);

  /// How many blocks append(seq, extra_tokens) would take: none while they fit in the slack
  /// (held * block_size - tokens), else ceil((extra_tokens - slack) / block_size).
  /// Errors: UnknownSequence.
  tl::expected<std::uint32_t, CacheError> blocks_needed(SeqId seq,
                                                        std::uint32_t extra_tokens) const;

  /// Blocks of a sequence of `tokens` tokens.
  std::uint32_t blocks_for(std::uint32_t tokens) const;

  bool contains(SeqId seq) const { return rows_of_.find(seq).has_value(); }
  /// Errors: UnknownSequence.
  tl::expected<std::uint32_t, CacheError> tokens(SeqId seq) const;
  tl::expected<std::span<const BlockId>, CacheError> block_table(SeqId seq) const;

  std::size_t sequence_count() const { return rows_of_.size(); }
  std::uint32_t block_size() const { return block_size_; }
  const BlockPool& pool() const { return pool_; }

 private:
  struct Row {
    std::uint32_t tokens = 0;
    std::vector<BlockId> table;
  };

  Row* find(SeqId seq);
  const Row* find(SeqId seq) const;
  std::uint32_t blocks_needed(const Row& row, std::uint32_t extra_tokens) const;

  std::uint32_t block_size_;
  BlockPool pool_;
  SeqMap rows_of_;
  std::vector<Row> rows_;  // tables of freed sequences keep their memory for the next
  std::vector<std::uint32_t> free_rows_;
};

}  // namespace forge
