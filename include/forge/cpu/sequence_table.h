// SequenceTable: what a target keeps of each sequence between steps, brought up to date by
// the deltas of each plan.
//
// The policy core knows numbers of tokens; the target knows the tokens. Both keep a block
// table, and deltas are all that passes between them, so every delta is checked: one that
// does not fit what is here is a bug, found at the step that contains it.
//
// Owns requests, tokens and block tables. Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "forge/core/request.h"
#include "forge/core/seq_map.h"
#include "forge/core/step_plan.h"

namespace forge {

class SequenceTable {
 public:
  struct Sequence {
    Request request;
    std::vector<TokenId> tokens;        ///< prompt and output
    std::vector<std::uint32_t> blocks;  ///< physical blocks, in order of position
    std::uint32_t valid = 0;            ///< leading tokens whose KV is in the blocks
  };

  /// Requires: num_blocks and block_size at least 1.
  SequenceTable(std::uint32_t num_blocks, std::uint32_t block_size);

  /// Requires: `seq` is unknown, the prompt is not empty.
  void begin(SeqId seq, const Request& request);

  /// Takes in who left the batch and how tables changed. Requires: every sequence named is
  /// known, every block below num_blocks, preemption by recompute.
  void apply(const StepPlan& plan);

  /// The sequence of `slice`. Requires: the slice starts where valid KV ends, covers known
  /// tokens and drafts alone, samples only at the end, and its table has room for it.
  Sequence& checked(const Slice& slice);

  std::size_t size() const { return rows_of_.size(); }

 private:
  std::uint32_t row_of(SeqId seq) const;

  std::uint32_t num_blocks_;
  std::uint32_t block_size_;
  SeqMap rows_of_;
  std::vector<Sequence> rows_;
  std::vector<std::uint32_t> free_rows_;
};

}  // namespace forge
