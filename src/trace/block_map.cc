#include "forge/trace/block_map.h"

#include <string_view>

namespace forge::trace {
namespace {

tl::unexpected<std::string> contradiction(const char* what, SeqId seq, const std::string& why) {
  return tl::unexpected(std::string(what) + " of sequence " + std::to_string(seq.value) + ": " +
                        why);
}

}  // namespace

tl::expected<void, std::string> BlockMap::apply(const StepPlan& plan) {
  ++plans_;
  for (const Finish& finish : plan.finished) drop(finish.seq);
  for (const Preemption& preemption : plan.preempted) drop(preemption.seq);
  // All truncations come first: what one sequence gave back since the last plan (rejected
  // drafts) may be in another's table in this one, whatever their order.
  for (const TableDelta& delta : plan.tables) {
    if (auto done = truncate(delta); !done) return done;
  }
  for (const TableDelta& delta : plan.tables) {
    for (const BlockId block : plan.appended(delta)) {
      if (auto done = append(delta.seq, block); !done) return done;
    }
  }
  for (const Slice& slice : plan.slices) {
    if (auto done = write(slice); !done) return done;
  }
  return {};
}

BlockMap::Applied BlockMap::hold(SeqId seq, std::span<const BlockId> blocks) {
  for (const BlockId block : blocks) {
    if (auto done = append(seq, block); !done) return done;
  }
  return {};
}

void BlockMap::drop(SeqId seq) {
  const auto found = tables_.find(seq);
  if (found == tables_.end()) return;
  for (const BlockId block : found->second) release(seq, block);
  tables_.erase(found);
}

BlockMap::Applied BlockMap::truncate(const TableDelta& delta) {
  std::vector<BlockId>& table = tables_[delta.seq];
  if (delta.truncated_to > table.size()) {
    return contradiction("table", delta.seq,
                         "truncated to " + std::to_string(delta.truncated_to) + " of " +
                             std::to_string(table.size()) + " blocks");
  }
  for (; table.size() > delta.truncated_to; table.pop_back()) release(delta.seq, table.back());
  return {};
}

BlockMap::Applied BlockMap::append(SeqId seq, BlockId block) {
  if (block.value >= blocks_.size()) {
    return contradiction("table", seq,
                         "block " + std::to_string(block.value) + " is not in 0.." +
                             std::to_string(blocks_.size() - 1));
  }
  Block& held = blocks_[block.value];
  ++held.holders;
  held.ids ^= seq.value;
  held_count_ += held.holders == 1 ? 1 : 0;
  shared_count_ += held.holders == 2 ? 1 : 0;
  tables_[seq].push_back(block);
  return {};
}

/// A slice has room in its table, and no two slices write one block.
BlockMap::Applied BlockMap::write(const Slice& slice) {
  if (slice.count == 0) return {};
  const std::span<const BlockId> blocks = table(slice.seq);
  const std::uint64_t end = std::uint64_t{slice.first} + slice.count;
  const std::uint64_t capacity = std::uint64_t{block_size_} * blocks.size();
  if (end > capacity) {
    return contradiction(
        "slice", slice.seq,
        "it ends at token " + std::to_string(end) + ", its table at " + std::to_string(capacity));
  }
  for (std::uint64_t i = slice.first / block_size_; i <= (end - 1) / block_size_; ++i) {
    Block& block = blocks_[blocks[i].value];
    if (block.written_plan == plans_) {
      return contradiction("slice", slice.seq,
                           "block " + std::to_string(blocks[i].value) + " is written twice");
    }
    block.written_plan = plans_;
  }
  return {};
}

void BlockMap::release(SeqId seq, BlockId block) {
  Block& held = blocks_[block.value];
  held_count_ -= held.holders == 1 ? 1 : 0;
  shared_count_ -= held.holders == 2 ? 1 : 0;
  --held.holders;
  held.ids ^= seq.value;
}

std::optional<SeqId> BlockMap::holder(BlockId block) const {
  const Block& held = blocks_[block.value];
  if (held.holders != 1) return std::nullopt;
  return SeqId{held.ids};
}

std::span<const BlockId> BlockMap::table(SeqId seq) const {
  const auto found = tables_.find(seq);
  if (found == tables_.end()) return {};
  return found->second;
}

std::string BlockMap::text(std::uint32_t first, std::uint32_t count) const {
  std::string text(count, '.');
  for (std::uint32_t i = 0; i < count; ++i) {
    const Block& held = blocks_[first + i];
    if (held.holders > 1) text[i] = '+';
    if (held.holders == 1) text[i] = symbol(SeqId{held.ids});
  }
  return text;
}

char BlockMap::symbol(SeqId seq) {
  constexpr std::string_view kSymbols =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return kSymbols[seq.value % kSymbols.size()];
}

}  // namespace forge::trace
