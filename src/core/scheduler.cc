#include "forge/core/scheduler.h"

#include <algorithm>

#include "forge/core/check.h"
#include "forge/core/must.h"

namespace forge {

Scheduler::Scheduler(const SchedulerConfig& config)
    : config_(config), cache_(config.num_blocks, config.block_size) {
  FORGE_CHECK(config.max_batch_size > 0, "a batch needs room for at least one sequence");
}

tl::expected<SeqId, SubmitError> Scheduler::submit(const Request& request) {
  if (auto valid = validate(request, config_); !valid) return tl::unexpected(valid.error());
  if (free_rows_.empty()) {
    free_rows_.push_back(static_cast<RowIndex>(rows_.size()));
    rows_.emplace_back();
    free_rows_.reserve(rows_.capacity());
    finishing_.reserve(rows_.capacity());
  }
  const RowIndex index = free_rows_.back();
  free_rows_.pop_back();
  rows_[index] = Row{};
  rows_[index].view = {.seq = SeqId{next_seq_++},
                       .prompt_tokens = static_cast<std::uint32_t>(request.prompt.size()),
                       .max_new_tokens = request.max_new_tokens};
  rows_of_.insert(rows_[index].view.seq, index);
  push_waiting_back(index);
  return rows_[index].view.seq;
}

tl::expected<void, UnknownSequence> Scheduler::cancel(SeqId seq, FinishReason reason) {
  FORGE_CHECK(reason != FinishReason::none, "cancel needs a reason");
  const auto index = rows_of_.find(seq);
  if (!index) return tl::unexpected(UnknownSequence{seq});
  finish(*index, reason);
  return {};
}

const StepPlan& Scheduler::schedule() {
  FORGE_CHECK(!in_flight_, "step ", plan_.step.value, " has not been committed");
  plan_.clear();
  plan_.step = StepId{next_step_++};
  retire();
  make_room();
  plan_decodes();
  admit();
  in_flight_ = true;
  return plan_;
}

void Scheduler::retire() {
  if (finishing_.empty()) return;
  std::erase_if(running_, [&](RowIndex index) {
    return rows_[index].view.state == SequenceState::finishing;
  });
  for (const RowIndex index : finishing_) {
    const Row& row = rows_[index];
    plan_.finished.push_back({row.view.seq, row.view.finish});
    if (cache_.contains(row.view.seq)) must(cache_.free(row.view.seq));
    rows_of_.erase(row.view.seq);
    free_rows_.push_back(index);
  }
  finishing_.clear();
}

void Scheduler::make_room() {
  const std::uint32_t free_before = cache_.pool().free_count();
  if (blocks_to_decode_all() <= free_before) return;
  for (const RowIndex index : running_) rows_[index].drafts = 0;
  while (blocks_to_decode_all() > cache_.pool().free_count()) {
    // The last one always fits: validate() refused what could not finish alone.
    FORGE_CHECK(running_.size() > 1, "sequence ", rows_[running_.front()].view.seq.value,
                " does not fit alone");
    preempt(choose_victim());
  }
}

void Scheduler::plan_decodes() {
  for (const RowIndex index : running_) {
    Row& row = rows_[index];
    plan_.slices.push_back({.seq = row.view.seq,
                            .first = row.length() - 1,
                            .count = 1 + row.drafts,
                            .drafts = row.drafts,
                            .samples = true});
    reserve(row, 1 + row.drafts);
  }
  plan_.decodes = static_cast<std::uint32_t>(running_.size());
}

void Scheduler::admit() {
  while (running_.size() < config_.max_batch_size && waiting_front_ != kNone) {
    const RowIndex index = waiting_front_;
    Row& row = rows_[index];
    if (cache_.blocks_for(row.length()) > cache_.pool().free_count()) return;
    unlink_waiting(index);
    row.view.state = SequenceState::running;
    running_.push_back(index);
    must(cache_.add(row.view.seq));
    (row.view.preemptions > 0 ? plan_.resumed : plan_.admitted).push_back(row.view.seq);
    plan_.slices.push_back(
        {.seq = row.view.seq, .first = 0, .count = row.length(), .samples = true});
    reserve(row, row.length());
  }
}

// A running sequence of n tokens holds blocks for n - 1; it decodes into slot n - 1 and on.
std::uint32_t Scheduler::blocks_to_decode(const Row& row) const {
  return cache_.blocks_for(row.length() + row.drafts) - cache_.blocks_for(row.length() - 1);
}

std::uint64_t Scheduler::blocks_to_decode_all() const {
  std::uint64_t needed = 0;
  for (const RowIndex index : running_) needed += blocks_to_decode(rows_[index]);
  return needed;
}

std::size_t Scheduler::choose_victim() const {
  const auto is_better_victim = [&](RowIndex a, RowIndex b) {
    const SequenceView& x = rows_[a].view;
    const SequenceView& y = rows_[b].view;
    if (x.output_tokens != y.output_tokens) return x.output_tokens < y.output_tokens;
    return x.seq > y.seq;
  };
  const auto victim = std::min_element(running_.begin(), running_.end(), is_better_victim);
  return static_cast<std::size_t>(victim - running_.begin());
}

void Scheduler::preempt(std::size_t running_index) {
  const RowIndex index = running_[running_index];
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(running_index));
  Row& row = rows_[index];
  must(cache_.free(row.view.seq));
  row.target_blocks = 0;
  row.view.state = SequenceState::waiting;
  ++row.view.preemptions;
  push_waiting_front(index);
  plan_.preempted.push_back({row.view.seq, PreemptionMode::recompute});
}

void Scheduler::reserve(Row& row, std::uint32_t tokens) {
  const std::span<const BlockId> appended = must(cache_.append(row.view.seq, tokens));
  const auto held = static_cast<std::uint32_t>(must(cache_.block_table(row.view.seq)).size());
  const auto count = static_cast<std::uint32_t>(appended.size());
  const std::uint32_t kept = held - count;
  if (count > 0 || kept < row.target_blocks) {
    const auto first = static_cast<std::uint32_t>(plan_.appended_blocks.size());
    plan_.tables.push_back({row.view.seq, kept, first, count});
    plan_.appended_blocks.insert(plan_.appended_blocks.end(), appended.begin(), appended.end());
  }
  row.target_blocks = held;
}

void Scheduler::commit(const StepPlan& plan, const StepResult& result) {
  FORGE_CHECK(in_flight_ && plan.step == plan_.step, "step ", plan.step.value, " is not in flight");
  FORGE_CHECK(result.step == plan_.step, "plan of step ", plan_.step.value, ", result of step ",
              result.step.value);
  FORGE_CHECK(result.slices.size() == plan_.slices.size(), plan_.slices.size(), " slices, ",
              result.slices.size(), " answers");
  for (std::size_t i = 0; i < running_.size(); ++i) {
    commit_slice(plan_.slices[i], result.slices[i], running_[i]);
  }
  in_flight_ = false;
}

void Scheduler::commit_slice(const Slice& slice, const SliceResult& result, RowIndex index) {
  FORGE_CHECK(result.seq == slice.seq, "slice of sequence ", slice.seq.value, ", answer of ",
              result.seq.value);
  if (result.signal == FinishSignal::error) return finish(index, FinishReason::error);
  FORGE_CHECK(result.token_count >= 1 && result.token_count <= slice.drafts + 1, "sequence ",
              slice.seq.value, ": ", result.token_count, " tokens for ", slice.drafts, " drafts");
  Row& row = rows_[index];
  const std::uint32_t rejected = slice.drafts + 1 - result.token_count;
  if (rejected > 0) must(cache_.rollback(slice.seq, rejected));
  row.view.output_tokens += result.token_count;
  if (result.signal == FinishSignal::eos) return finish(index, FinishReason::eos);
  const std::uint32_t left = row.view.max_new_tokens - row.view.output_tokens;
  if (left == 0) return finish(index, FinishReason::length);
  row.drafts = std::min(result.drafts, left - 1);
}

void Scheduler::finish(RowIndex index, FinishReason reason) {
  Row& row = rows_[index];
  if (row.view.state == SequenceState::finishing) return;
  if (row.view.state == SequenceState::waiting) unlink_waiting(index);
  row.view.state = SequenceState::finishing;
  row.view.finish = reason;
  finishing_.push_back(index);
}

void Scheduler::push_waiting_front(RowIndex index) {
  rows_[index].previous = kNone;
  rows_[index].next = waiting_front_;
  (waiting_front_ == kNone ? waiting_back_ : rows_[waiting_front_].previous) = index;
  waiting_front_ = index;
  ++waiting_count_;
}

void Scheduler::push_waiting_back(RowIndex index) {
  rows_[index].previous = waiting_back_;
  rows_[index].next = kNone;
  (waiting_back_ == kNone ? waiting_front_ : rows_[waiting_back_].next) = index;
  waiting_back_ = index;
  ++waiting_count_;
}

void Scheduler::unlink_waiting(RowIndex index) {
  const Row& row = rows_[index];
  (row.previous == kNone ? waiting_front_ : rows_[row.previous].next) = row.next;
  (row.next == kNone ? waiting_back_ : rows_[row.next].previous) = row.previous;
  --waiting_count_;
}

}  // namespace forge
