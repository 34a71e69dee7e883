#include "forge/cpu/sequence_table.h"

#include "forge/core/check.h"

namespace forge {

SequenceTable::SequenceTable(std::uint32_t num_blocks, std::uint32_t block_size)
    : num_blocks_(num_blocks), block_size_(block_size) {}

std::uint32_t SequenceTable::row_of(SeqId seq) const {
  const auto row = rows_of_.find(seq);
  FORGE_CHECK(row.has_value(), "unknown sequence ", seq.value);
  return *row;
}

void SequenceTable::begin(SeqId seq, const Request& request) {
  FORGE_CHECK(!rows_of_.find(seq).has_value(), "sequence ", seq.value, " is known already");
  FORGE_CHECK(!request.prompt.empty(), "sequence ", seq.value, " has an empty prompt");
  if (free_rows_.empty()) {
    free_rows_.push_back(static_cast<std::uint32_t>(rows_.size()));
    rows_.emplace_back();
  }
  const std::uint32_t row = free_rows_.back();
  free_rows_.pop_back();
  rows_of_.insert(seq, row);
  Sequence& sequence = rows_[row];
  sequence.request = request;
  sequence.tokens = request.prompt;
  sequence.tokens.reserve(request.prompt.size() + request.max_new_tokens);
  sequence.blocks.clear();
  sequence.blocks.reserve(sequence.tokens.capacity() / block_size_ + 1);
  sequence.valid = 0;
}

void SequenceTable::apply(const StepPlan& plan) {
  for (const Finish& finish : plan.finished) {
    free_rows_.push_back(row_of(finish.seq));
    rows_of_.erase(finish.seq);
  }
  for (const Preemption& preemption : plan.preempted) {
    FORGE_CHECK(preemption.mode == PreemptionMode::recompute, "sequence ", preemption.seq.value,
                ": this target cannot swap");
    Sequence& sequence = rows_[row_of(preemption.seq)];
    sequence.blocks.clear();
    sequence.valid = 0;
  }
  for (const TableDelta& delta : plan.tables) {
    std::vector<std::uint32_t>& blocks = rows_[row_of(delta.seq)].blocks;
    FORGE_CHECK(delta.truncated_to <= blocks.size(), "sequence ", delta.seq.value,
                ": truncated_to=", delta.truncated_to, " blocks=", blocks.size());
    blocks.resize(delta.truncated_to);
    for (const BlockId block : plan.appended(delta)) {
      FORGE_CHECK(block.value < num_blocks_, "sequence ", delta.seq.value, ": block=", block.value,
                  " num_blocks=", num_blocks_);
      blocks.push_back(block.value);
    }
  }
}

SequenceTable::Sequence& SequenceTable::checked(const Slice& slice) {
  Sequence& sequence = rows_[row_of(slice.seq)];
  const std::size_t slots = sequence.blocks.size() * block_size_;
  FORGE_CHECK(slice.first == sequence.valid, "sequence ", slice.seq.value, ": first=", slice.first,
              " valid=", sequence.valid);
  FORGE_CHECK(slice.drafts < slice.count, "sequence ", slice.seq.value, ": count=", slice.count,
              " drafts=", slice.drafts);
  const std::size_t known_end = slice.first + slice.count - slice.drafts;
  FORGE_CHECK(slice.samples ? known_end == sequence.tokens.size()
                            : known_end <= sequence.tokens.size() && slice.drafts == 0,
              "sequence ", slice.seq.value, ": slice ends at ", known_end, " of ",
              sequence.tokens.size(), " tokens, drafts=", slice.drafts,
              " samples=", slice.samples ? 1 : 0);
  FORGE_CHECK(slice.first + slice.count <= slots, "sequence ", slice.seq.value, ": slice needs ",
              slice.first + slice.count, " slots of ", slots);
  return sequence;
}

}  // namespace forge
