#include "forge/trace/block_map.h"

#include <string_view>

namespace forge {

tl::expected<void, std::string> BlockMap::apply(const StepPlan& plan) {
  for (const Finish& finish : plan.finished) {
    truncate(finish.seq, 0);
    tables_.erase(finish.seq);
  }
  for (const Preemption& preemption : plan.preempted) truncate(preemption.seq, 0);
  // All truncations come first: what one sequence gave back since the last plan (rejected
  // drafts) may be in another's table in this one, whatever their order.
  for (const TableDelta& delta : plan.tables) {
    const std::size_t held = tables_[delta.seq].size();
    if (delta.truncated_to > held) {
      return tl::unexpected("table of sequence " + std::to_string(delta.seq.value) +
                            ": truncated to " + std::to_string(delta.truncated_to) + " of " +
                            std::to_string(held) + " blocks");
    }
    truncate(delta.seq, delta.truncated_to);
  }
  for (const TableDelta& delta : plan.tables) {
    for (const BlockId block : plan.appended(delta)) {
      if (auto taken = take(delta.seq, block); !taken) return taken;
    }
  }
  return {};
}

tl::expected<void, std::string> BlockMap::take(SeqId seq, BlockId block) {
  const std::string where =
      "table of sequence " + std::to_string(seq.value) + ": block " + std::to_string(block.value);
  if (block.value >= holders_.size()) {
    return tl::unexpected(where + " is not in 0.." + std::to_string(holders_.size() - 1));
  }
  std::optional<SeqId>& holder = holders_[block.value];
  if (holder) {
    return tl::unexpected(where + " is held by sequence " + std::to_string(holder->value));
  }
  holder = seq;
  tables_[seq].push_back(block);
  return {};
}

void BlockMap::truncate(SeqId seq, std::size_t length) {
  const auto found = tables_.find(seq);
  if (found == tables_.end()) return;
  std::vector<BlockId>& table = found->second;
  for (; table.size() > length; table.pop_back()) holders_[table.back().value].reset();
}

std::string BlockMap::text() const {
  std::string text;
  text.reserve(holders_.size());
  for (const auto& holder : holders_) text += holder ? symbol(*holder) : '.';
  return text;
}

char BlockMap::symbol(SeqId seq) {
  constexpr std::string_view kSymbols =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return kSymbols[seq.value % kSymbols.size()];
}

}  // namespace forge
