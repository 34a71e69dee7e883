// SequenceTable: what a target keeps of each sequence between steps, brought up to date by
// the deltas of each plan.
//
//             begin         admitted             slices ...          finished
//   (unknown) -----> new ------------> in batch ----------> in batch ---------> (unknown)
//                                      |      ^
//                            preempted |      | resumed
//                                      v      |
//                                      preempted
//
// The policy core knows numbers of tokens; the target knows the tokens. Both keep a block
// table, and deltas are all that passes between them, so every delta is checked: one that
// does not fit what is here is a bug, found at the step that contains it.
//
// A sequence in the batch has a batch row: the lowest number that no other sequence in the batch
// has. So it is always below the largest number of sequences that were in the batch at a time. A
// GPU keeps its block tables by it.
//
// Owns requests, tokens and block tables. Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "forge/core/request.h"
#include "forge/core/seq_map.h"
#include "forge/core/step_plan.h"
#include "forge/executor/ngram_index.h"
#include "forge/grammar/output_matcher.h"
#include "forge/sampling/adjustments.h"

namespace forge::executor {

class SequenceTable {
 public:
  struct Sequence {
    enum class Place : std::uint8_t { fresh, in_batch, preempted };

    Request request;
    std::vector<TokenId> tokens;                   ///< prompt and output
    sampling::Adjustments said;                    ///< what sampling knows of them
    std::optional<grammar::OutputMatcher> output;  ///< what may follow, if there is a grammar
    NgramIndex ngrams;                             ///< of the tokens, where a drafter uses it
    std::vector<std::uint32_t> blocks;             ///< physical blocks, in order of position
    std::uint32_t valid = 0;                       ///< leading tokens whose KV is in the blocks
    std::vector<std::uint32_t> host_blocks;  ///< host blocks of its KV while it is swapped out
    std::uint32_t host_valid = 0;            ///< leading tokens whose KV is there
    std::uint32_t told = 1;  ///< leading tokens of the prompt whose log-probabilities were told
    Place place = Place::fresh;
    std::optional<StepId> last_slice;  ///< step of its last slice
    std::uint32_t batch_row = 0;       ///< while it is in the batch
  };

  /// Where sequences are kept, and how long they may become.
  struct Room {
    std::uint32_t num_blocks = 1;  ///< at least 1
    std::uint32_t block_size = 1;  ///< at least 1
    int positions = 1 << 24;       ///< those of the model
  };

  /// Without `grammars` there is no sequence with one.
  explicit SequenceTable(const Room& room,
                         std::shared_ptr<grammar::OutputCompiler> grammars = nullptr);

  /// Executor::refuses() of what a request could become too long for, and of its grammar. Any
  /// thread may ask.
  std::optional<std::string> refuses(const Request& request) const;

  /// Returns the new sequence. Requires: `seq` is unknown, the prompt is not empty, the request is
  /// not refused.
  Sequence& begin(SeqId seq, const Request& request);

  /// Takes in which sequences left the batch, which entered it, and how tables changed. Requires:
  ///   - the plan's step is another one than that of the plan before it;
  ///   - every sequence named is known and where its list says: new, in the batch, preempted;
  ///   - a sequence that enters has at least one token left to run;
  ///   - every block of valid KV of a sequence that is swapped out is copied to the host; for one
  ///     that comes back, all of them are copied to their places in its table, or none;
  ///   - deltas are in slice order, one a sequence, and each sequence has a slice;
  ///   - every block is below num_blocks.
  void apply(const StepPlan& plan);

  /// All KV is gone, and all tables: whoever is in the batch leaves it, as if it were preempted.
  void lose_kv();

  /// The sequence of `slice`, which is part of `step`. Requires: it is in the batch and has no
  /// other slice in this step; the slice starts where valid KV ends, covers known tokens and drafts
  /// alone, samples exactly when it reaches the end, and its table has room for it.
  Sequence& checked(StepId step, const Slice& slice);

  std::size_t size() const { return rows_of_.size(); }

  /// Batch rows are below batch_row_count(). in_batch() returns the sequence of a batch row, or
  /// null.
  std::uint32_t batch_row_count() const { return static_cast<std::uint32_t>(batch_.size()); }
  const Sequence* in_batch(std::uint32_t batch_row) const {
    return batch_[batch_row] ? &rows_[*batch_[batch_row]] : nullptr;
  }

 private:
  std::uint32_t row_of(SeqId seq) const;
  Sequence& sequence(SeqId seq) { return rows_[row_of(seq)]; }
  void leave(const StepPlan& plan);
  void preempt(Sequence& sequence);
  void leave_batch(Sequence& sequence);
  void check_swaps_in(const StepPlan& plan);
  void enter(const Admission& admission, Sequence::Place from);
  void change(const StepPlan& plan, const TableDelta& delta);

  std::uint32_t num_blocks_;
  std::uint32_t block_size_;
  std::uint64_t positions_;
  std::shared_ptr<grammar::OutputCompiler> grammars_;
  std::optional<StepId> last_step_;
  SeqMap rows_of_;
  std::vector<Sequence> rows_;
  std::vector<std::uint32_t> free_rows_;
  std::vector<std::optional<std::uint32_t>> batch_;  // [batch rows] index into rows_
};

}  // namespace forge::executor
