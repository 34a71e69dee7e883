#include "forge/executor/sequence_table.h"

#include <algorithm>
#include <span>
#include <utility>

#include "forge/core/check.h"
#include "forge/core/executor.h"

namespace forge::executor {
namespace {

const char* name_of(SequenceTable::Sequence::Place place) {
  switch (place) {
    case SequenceTable::Sequence::Place::fresh:
      return "new";
    case SequenceTable::Sequence::Place::in_batch:
      return "in the batch";
    case SequenceTable::Sequence::Place::preempted:
      return "preempted";
  }
  return "";
}

void expect_place(SeqId seq, const SequenceTable::Sequence& sequence,
                  SequenceTable::Sequence::Place expected) {
  FORGE_CHECK(sequence.place == expected, "sequence ", seq.value, " is ", name_of(sequence.place),
              ", not ", name_of(expected));
}

/// Walks the copies of one kind in the order of the list.
class CopyWalk {
 public:
  CopyWalk(const StepPlan& plan, CopyKind kind) : copies_(plan.copies), kind_(kind) { skip(); }

  /// The next copy, which stays the next; nothing after the last.
  const BlockCopy* peek() const { return next_ < copies_.size() ? &copies_[next_] : nullptr; }
  void pop() {
    ++next_;
    skip();
  }

 private:
  void skip() {
    while (next_ < copies_.size() && copies_[next_].kind != kind_) ++next_;
  }

  std::span<const BlockCopy> copies_;
  CopyKind kind_;
  std::size_t next_ = 0;
};

/// The copies that take the valid KV of `sequence` to the host, as many as its table has blocks of
/// it. They may come from equal blocks that have replaced ours since its last slice.
void take_swap_out(CopyWalk& copies, SeqId seq, SequenceTable::Sequence& sequence,
                   std::uint32_t block_size) {
  sequence.host_blocks.clear();
  sequence.host_valid = sequence.valid;
  for (std::uint32_t i = 0; i * std::uint64_t{block_size} < sequence.valid; ++i) {
    const BlockCopy* copy = copies.peek();
    FORGE_CHECK(copy != nullptr, "sequence ", seq.value, " is swapped out with ", sequence.valid,
                " valid tokens, of which ", i, " blocks are copied");
    sequence.host_blocks.push_back(copy->to.value);
    copies.pop();
  }
}

/// The copies that bring it back. None at all: the scheduler does not rely on that swap.
void take_swap_in(CopyWalk& copies, SeqId seq, SequenceTable::Sequence& sequence) {
  const BlockCopy* first = copies.peek();
  if (first == nullptr || first->from.value != sequence.host_blocks.front()) return;
  FORGE_CHECK(sequence.valid == sequence.host_valid, "sequence ", seq.value,
              " is swapped in: cached_tokens=", sequence.valid, " of ", sequence.host_valid,
              " in host memory");
  for (std::size_t i = 0; i < sequence.host_blocks.size(); ++i) {
    const BlockCopy* copy = copies.peek();
    FORGE_CHECK(copy != nullptr && copy->from.value == sequence.host_blocks[i] &&
                    i < sequence.blocks.size() && copy->to.value == sequence.blocks[i],
                "sequence ", seq.value, " is swapped in: host block ", sequence.host_blocks[i],
                " is not copied in its turn to the block in its place");
    copies.pop();
  }
}

}  // namespace

SequenceTable::SequenceTable(const Room& room, std::shared_ptr<grammar::OutputCompiler> grammars)
    : num_blocks_(room.num_blocks),
      block_size_(room.block_size),
      positions_(static_cast<std::uint64_t>(room.positions)),
      grammars_(std::move(grammars)) {}

std::optional<std::string> SequenceTable::refuses(const Request& request) const {
  const std::uint64_t length = request.prompt.size() + std::uint64_t{request.max_new_tokens};
  if (length > positions_) {
    return "prompt and max_new_tokens are " + std::to_string(length) +
           " tokens together; accepted are up to " + std::to_string(positions_) +
           ", the positions of the model";
  }
  if (!request.sampling.grammar) return std::nullopt;
  if (grammars_ == nullptr) return Executor::kNoGrammars;
  if (request.ignore_eos) {
    return "the grammar of the output is refused: ignore_eos would have it go on behind its end";
  }
  const auto compiled = grammars_->compile(*request.sampling.grammar);
  if (compiled) return std::nullopt;
  return "the grammar of the output is refused: " + to_string(compiled.error().error);
}

std::uint32_t SequenceTable::row_of(SeqId seq) const {
  const auto row = rows_of_.find(seq);
  FORGE_CHECK(row.has_value(), "unknown sequence ", seq.value);
  return *row;
}

SequenceTable::Sequence& SequenceTable::begin(SeqId seq, const Request& request) {
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
  sequence.said = sampling::Adjustments(request.sampling, request.prompt);
  sequence.ngrams.clear();
  sequence.output.reset();
  if (request.sampling.grammar) {
    const auto refusal = refuses(request);
    FORGE_CHECK(!refusal.has_value(), "sequence ", seq.value, ": ", refusal.value_or(""));
    sequence.output.emplace(*grammars_->compile(*request.sampling.grammar));
  }
  sequence.tokens.reserve(request.prompt.size() + request.max_new_tokens);
  sequence.blocks.clear();
  sequence.blocks.reserve(sequence.tokens.capacity() / block_size_ + 1);
  sequence.host_blocks.clear();
  sequence.valid = 0;
  sequence.told = 1;  // nothing is before the first
  sequence.place = Sequence::Place::fresh;
  sequence.last_slice = std::nullopt;
  return sequence;
}

void SequenceTable::apply(const StepPlan& plan) {
  FORGE_CHECK(last_step_ != plan.step, "step ", plan.step.value, " after step ",
              last_step_ ? last_step_->value : 0);
  last_step_ = plan.step;
  leave(plan);
  for (const Admission& admission : plan.admitted) enter(admission, Sequence::Place::fresh);
  for (const Admission& admission : plan.resumed) enter(admission, Sequence::Place::preempted);
  auto slice = plan.slices.begin();
  for (const TableDelta& delta : plan.tables) {
    slice = std::find_if(slice, plan.slices.end(),
                         [&](const Slice& candidate) { return candidate.seq == delta.seq; });
    FORGE_CHECK(slice != plan.slices.end(), "sequence ", delta.seq.value,
                ": its table changes without a slice, out of order or twice");
    ++slice;
    change(plan, delta);
  }
  check_swaps_in(plan);
}

void SequenceTable::leave(const StepPlan& plan) {
  for (const Finish& finish : plan.finished) {
    const std::uint32_t row = row_of(finish.seq);
    if (rows_[row].place == Sequence::Place::in_batch) leave_batch(rows_[row]);
    free_rows_.push_back(row);
    rows_of_.erase(finish.seq);
  }
  CopyWalk swaps_out(plan, CopyKind::swap_out);
  for (const Preemption& preemption : plan.preempted) {
    Sequence& left = sequence(preemption.seq);
    expect_place(preemption.seq, left, Sequence::Place::in_batch);
    if (preemption.mode == PreemptionMode::swap) {
      take_swap_out(swaps_out, preemption.seq, left, block_size_);
    }
    preempt(left);
  }
  FORGE_CHECK(swaps_out.peek() == nullptr, "block ", swaps_out.peek()->from.value,
              " is copied to the host for nobody");
}

void SequenceTable::preempt(Sequence& sequence) {
  leave_batch(sequence);
  sequence.blocks.clear();
  sequence.valid = 0;
  sequence.place = Sequence::Place::preempted;
}

void SequenceTable::lose_kv() {
  for (Sequence& sequence : rows_) sequence.host_blocks.clear();
  for (const std::optional<std::uint32_t> row : batch_) {
    if (row) preempt(rows_[*row]);
  }
}

void SequenceTable::leave_batch(Sequence& sequence) { batch_[sequence.batch_row].reset(); }

void SequenceTable::check_swaps_in(const StepPlan& plan) {
  CopyWalk swaps_in(plan, CopyKind::swap_in);
  for (const Admission& admission : plan.resumed) {
    Sequence& resumed = sequence(admission.seq);
    if (resumed.host_blocks.empty()) continue;
    take_swap_in(swaps_in, admission.seq, resumed);
    resumed.host_blocks.clear();
  }
  FORGE_CHECK(swaps_in.peek() == nullptr, "host block ", swaps_in.peek()->from.value,
              " is copied back for nobody");
}

void SequenceTable::enter(const Admission& admission, Sequence::Place from) {
  const std::uint32_t row = row_of(admission.seq);
  Sequence& entered = rows_[row];
  expect_place(admission.seq, entered, from);
  FORGE_CHECK(admission.cached_tokens < entered.tokens.size(), "sequence ", admission.seq.value,
              ": cached_tokens=", admission.cached_tokens, " of ", entered.tokens.size(),
              " tokens leaves none to run");
  entered.valid = admission.cached_tokens;
  entered.place = Sequence::Place::in_batch;
  const auto place = std::find(batch_.begin(), batch_.end(), std::nullopt);
  entered.batch_row = static_cast<std::uint32_t>(place - batch_.begin());
  if (place == batch_.end()) {
    batch_.emplace_back(row);
  } else {
    *place = row;
  }
}

void SequenceTable::change(const StepPlan& plan, const TableDelta& delta) {
  Sequence& changed = sequence(delta.seq);
  expect_place(delta.seq, changed, Sequence::Place::in_batch);
  std::vector<std::uint32_t>& blocks = changed.blocks;
  FORGE_CHECK(delta.truncated_to <= blocks.size(), "sequence ", delta.seq.value,
              ": truncated_to=", delta.truncated_to, " blocks=", blocks.size());
  blocks.resize(delta.truncated_to);
  for (const BlockId block : plan.appended(delta)) {
    FORGE_CHECK(block.value < num_blocks_, "sequence ", delta.seq.value, ": block=", block.value,
                " num_blocks=", num_blocks_);
    blocks.push_back(block.value);
  }
}

SequenceTable::Sequence& SequenceTable::checked(StepId step, const Slice& slice) {
  Sequence& run = sequence(slice.seq);
  expect_place(slice.seq, run, Sequence::Place::in_batch);
  FORGE_CHECK(run.last_slice != step, "sequence ", slice.seq.value, " has two slices in step ",
              step.value);
  run.last_slice = step;
  FORGE_CHECK(slice.first == run.valid, "sequence ", slice.seq.value, ": first=", slice.first,
              " valid=", run.valid);
  FORGE_CHECK(slice.drafts < slice.count, "sequence ", slice.seq.value, ": count=", slice.count,
              " drafts=", slice.drafts);
  const std::size_t known_end = slice.first + slice.count - slice.drafts;
  FORGE_CHECK(slice.samples ? known_end == run.tokens.size()
                            : known_end < run.tokens.size() && slice.drafts == 0,
              "sequence ", slice.seq.value, ": slice ends at ", known_end, " of ",
              run.tokens.size(), " tokens, drafts=", slice.drafts,
              " samples=", slice.samples ? 1 : 0);
  const std::size_t slots = run.blocks.size() * block_size_;
  FORGE_CHECK(slice.first + slice.count <= slots, "sequence ", slice.seq.value, ": slice needs ",
              slice.first + slice.count, " slots of ", slots);
  return run;
}

}  // namespace forge::executor
