// BlockMap: who holds which block of the KV cache, rebuilt from plans alone.
//
// A plan carries deltas. Applying them in order gives every block table at every step, as a
// target keeps them, without a scheduler and without running anything: this is what makes a
// trace worth looking at.
//
// Owns the tables. Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/step_plan.h"

namespace forge {

class BlockMap {
 public:
  explicit BlockMap(std::uint32_t num_blocks) : holders_(num_blocks) {}

  /// Applies the deltas of `plan`. Requires: its flat ranges lie inside their lists.
  /// Errors: a text naming the delta that does not follow from the plans before (a block that
  /// is not free or does not exist, a table shorter than truncated_to); the map is then of no use.
  tl::expected<void, std::string> apply(const StepPlan& plan);

  std::uint32_t num_blocks() const { return static_cast<std::uint32_t>(holders_.size()); }
  /// The sequence that holds `block`; nothing if it is free. Requires: block < num_blocks().
  std::optional<SeqId> holder(BlockId block) const { return holders_[block.value]; }

  /// One character a block, in order: '.' is free, else the symbol of the holder.
  std::string text() const;
  /// Sequence s is number s mod 62 of 0..9, a..z, A..Z.
  static char symbol(SeqId seq);

 private:
  tl::expected<void, std::string> take(SeqId seq, BlockId block);
  void truncate(SeqId seq, std::size_t length);

  std::vector<std::optional<SeqId>> holders_;
  std::map<SeqId, std::vector<BlockId>> tables_;
};

}  // namespace forge
