// BlockMap: which sequences hold which block of the KV cache, rebuilt from plans alone.
//
// A plan carries deltas. Applying them in order gives every block table at every step, as a
// target keeps them, without a scheduler and without running anything: this is what makes a
// trace worth looking at.
//
// Several sequences may hold one block: a prefix that they share. What cannot be known from plans
// is what is cached: a block that no table holds may be free, or keep a prefix that a request may
// still ask for, or be pinned for a session. It counts as free here; what is cached is in
// cached_blocks.h. And a sequence that has no slice for a while shows the table that its target
// has, which may name a block that the scheduler has exchanged for an equal cached one in the
// meantime.
//
// Owns the tables. Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/step_plan.h"

namespace forge::trace {

class BlockMap {
 public:
  /// Requires: both are at least 1.
  BlockMap(std::uint32_t num_blocks, std::uint32_t block_size)
      : block_size_(block_size), blocks_(num_blocks) {}

  /// Applies the deltas of `plan`. Requires: its flat ranges lie inside their lists.
  /// Errors: a text naming what does not follow from the plans before (a block that does not
  /// exist, a table shorter than truncated_to or than a slice needs, a block that two slices
  /// write); the map is then of no use. O(work of the plan).
  tl::expected<void, std::string> apply(const StepPlan& plan);

  /// Makes `blocks` the table of `seq`. Requires: it has none. Errors: as apply().
  tl::expected<void, std::string> hold(SeqId seq, std::span<const BlockId> blocks);
  /// Empties the table of `seq`, if it has one.
  void drop(SeqId seq);

  std::uint32_t num_blocks() const { return static_cast<std::uint32_t>(blocks_.size()); }
  /// The number of blocks that are in at least one table, and of those that are in several.
  std::uint32_t held_count() const { return held_count_; }
  std::uint32_t shared_count() const { return shared_count_; }
  /// The number of tables that `block` is in. Requires: block < num_blocks().
  std::uint32_t holders(BlockId block) const { return blocks_[block.value].holders; }
  /// The sequence that holds `block`, if exactly one does. Requires: block < num_blocks().
  std::optional<SeqId> holder(BlockId block) const;
  /// The table of `seq`; empty if it has none.
  std::span<const BlockId> table(SeqId seq) const;

  /// One character a block, in order, `count` from `first` on: '.' is in no table, '+' in several,
  /// else the symbol of the holder. Requires: first + count <= num_blocks().
  std::string text(std::uint32_t first, std::uint32_t count) const;
  std::string text() const { return text(0, num_blocks()); }
  /// Sequence s is number s mod 62 of 0..9, a..z, A..Z.
  static char symbol(SeqId seq);

 private:
  struct Block {
    std::uint32_t holders = 0;
    std::uint64_t ids = 0;           // xor of all holders' ids: with one holder, its id
    std::uint64_t written_plan = 0;  // number of the plan that wrote it last
  };
  using Applied = tl::expected<void, std::string>;

  Applied truncate(const TableDelta& delta);
  Applied append(SeqId seq, BlockId block);
  Applied write(const Slice& slice);
  void release(SeqId seq, BlockId block);

  std::uint32_t block_size_;
  std::vector<Block> blocks_;
  std::map<SeqId, std::vector<BlockId>> tables_;
  std::uint64_t plans_ = 0;
  std::uint32_t held_count_ = 0;
  std::uint32_t shared_count_ = 0;
};

}  // namespace forge::trace
