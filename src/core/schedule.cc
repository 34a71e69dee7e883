// Scheduler::schedule(), in the order of scheduler.h.
#include <algorithm>
#include <tuple>

#include "forge/core/check.h"
#include "forge/core/must.h"
#include "forge/core/scheduler.h"

namespace forge {

const StepPlan& Scheduler::schedule() {
  FORGE_CHECK(!in_flight_, "step ", plan_.step.value, " has not been committed");
  plan_.clear();
  slice_rows_.clear();
  plan_.step = StepId{next_step_++};
  budget_ = config_.max_batch_tokens;
  expire();
  retire();
  make_room();
  plan_decodes();
  plan_prefills();
  if (plan_.preempted.empty()) admit();
  in_flight_ = true;
  plan_is_fresh_ = true;
  return plan_;
}

// 1. Expire

void Scheduler::expire() {
  while (const auto index = deadlines_.due(plan_.step)) finish(*index, FinishReason::deadline);
  if (plan_.step.value < config_.session_idle_steps) return;
  const StepId limit{plan_.step.value - config_.session_idle_steps};
  while (const auto session = sessions_.idle_since(limit)) end_session(*session);
}

// 2. Retire

void Scheduler::retire() {
  if (finishing_.empty()) return;
  std::erase_if(running_, [&](RowIndex index) {
    return rows_[index].view.state == SequenceState::finishing;
  });
  for (const RowIndex index : finishing_) retire_row(index);
  finishing_.clear();
}

void Scheduler::retire_row(RowIndex index) {
  const Row& row = rows_[index];
  const SeqId seq = row.view.seq;
  plan_.finished.push_back({seq, row.view.finish});
  if (row.session) keep_for_session(row);
  if (cache_.contains(seq)) must(cache_.free(seq));
  if (host_.contains(seq)) must(host_.free(seq));
  rows_of_.erase(seq);
  free_rows_.push_back(index);
}

/// A turn that came to its end leaves its KV to the session, in place of that of the turn before.
void Scheduler::keep_for_session(const Row& row) {
  const FinishReason reason = row.view.finish;
  const bool complete =
      reason == FinishReason::eos || reason == FinishReason::length || reason == FinishReason::stop;
  if (complete && cache_.contains(row.view.seq)) {
    std::vector<BlockId>& pinned = sessions_.pinned(*row.session);
    const std::vector<BlockId> before = std::move(pinned);
    must(cache_.pin(row.view.seq, pinned));
    cache_.unpin(before);
  }
  sessions_.end_request(*row.session, plan_.step);
}

// 3. Decode

void Scheduler::make_room() {
  if (decoding_count_ == 0) return;
  trim_drafts_to_budget();
  std::uint64_t needed = blocks_to_decode_all();
  if (needed <= cache_.available_count()) return;
  for (const RowIndex index : running_) rows_[index].drafts = 0;
  needed = blocks_to_decode_all();
  while (needed > cache_.available_count()) {
    if (running_.size() == 1) {
      end_session_for_memory(rows_[running_.front()]);
      continue;
    }
    const std::size_t victim = choose_victim();
    const Row& row = rows_[running_[victim]];
    if (row.view.state == SequenceState::decoding) needed -= blocks_to_decode(row);
    preempt(victim);
  }
}

/// Every decoding sequence runs; drafts share what is left, first come, first served.
void Scheduler::trim_drafts_to_budget() {
  std::uint32_t spare = config_.max_batch_tokens - decoding_count_;
  for (const RowIndex index : running_) {
    Row& row = rows_[index];
    row.drafts = std::min(row.drafts, spare);
    spare -= row.drafts;
  }
}

/// It decodes into the slot after the valid tokens and on.
std::uint32_t Scheduler::blocks_to_decode(const Row& row) const {
  return cache_.blocks_for(row.view.length() + row.drafts) - row.table_blocks;
}

std::uint64_t Scheduler::blocks_to_decode_all() const {
  std::uint64_t needed = 0;
  for (const RowIndex index : running_) {
    const Row& row = rows_[index];
    if (row.view.state == SequenceState::decoding) needed += blocks_to_decode(row);
  }
  return needed;
}

/// An alternative to preemption that is left when nobody else runs: the last one always fits,
/// because validate() refused what could not finish alone.
void Scheduler::end_session_for_memory(const Row& row) {
  const auto session = sessions_.first_to_end();
  FORGE_CHECK(session.has_value(), "sequence ", row.view.seq.value, " does not fit alone");
  end_session(*session);
}

std::size_t Scheduler::choose_victim() const {
  const auto is_better_victim = [&](RowIndex a, RowIndex b) {
    const SequenceView& x = rows_[a].view;
    const SequenceView& y = rows_[b].view;
    return std::tie(x.priority, x.output_tokens, y.seq) <
           std::tie(y.priority, y.output_tokens, x.seq);
  };
  const auto victim = std::min_element(running_.begin(), running_.end(), is_better_victim);
  return static_cast<std::size_t>(victim - running_.begin());
}

void Scheduler::preempt(std::size_t running_index) {
  const RowIndex index = running_[running_index];
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(running_index));
  Row& row = rows_[index];
  const bool swap = prefers_swap(row);
  if (swap) {
    swap_out(row);
  } else {
    row.view.computed_tokens = 0;
    row.decodes = false;
  }
  plan_.preempted.push_back(
      {row.view.seq, swap ? PreemptionMode::swap : PreemptionMode::recompute});
  must(cache_.free(row.view.seq));
  if (row.view.state == SequenceState::decoding) --decoding_count_;
  row.view.state = SequenceState::waiting;
  row.drafts = 0;
  ++row.view.preemptions;
  // Its new tokens may go on along blocks that others published before it was last looked up.
  row.match_blocks = cache_.blocks_for(row.view.length());
  queue_.push(index, row.view.seq, row.view.priority);
}

bool Scheduler::prefers_swap(const Row& row) const {
  const std::uint32_t tokens = row.view.computed_tokens;
  const std::uint32_t blocks = cache_.blocks_for(tokens);
  if (tokens == 0 || blocks > host_.available_count()) return false;
  if (config_.preemption != PreemptionPolicy::automatic) {
    return config_.preemption == PreemptionPolicy::swap;
  }
  return config_.swap_setup_cost + std::uint64_t{config_.swap_block_cost} * blocks < tokens;
}

void Scheduler::swap_out(const Row& row) {
  const SeqId seq = row.view.seq;
  const auto table = must(cache_.block_table(seq));
  must(host_.add(seq));
  const auto host_table = must(host_.append(seq, row.view.computed_tokens)).blocks;
  for (std::size_t i = 0; i < host_table.size(); ++i) {
    plan_.copies.push_back({CopyKind::swap_out, table[i], host_table[i]});
  }
}

void Scheduler::plan_decodes() {
  if (decoding_count_ == 0) return;
  for (const RowIndex index : running_) {
    Row& row = rows_[index];
    if (row.view.state != SequenceState::decoding) continue;
    row.table_blocks += must(cache_.append(row.view.seq, 1 + row.drafts)).appended;
    plan_slice(index, 1 + row.drafts, row.drafts);
  }
  plan_.decodes = static_cast<std::uint32_t>(plan_.slices.size());
}

// 4. Prefill

void Scheduler::plan_prefills() {
  if (decoding_count_ == running_.size()) return;
  for (const RowIndex index : running_) {
    if (budget_ == 0) return;
    const Row& row = rows_[index];
    if (row.view.state == SequenceState::prefilling) plan_slice(index, prefill_count(row), 0);
  }
}

std::uint32_t Scheduler::prefill_count(const Row& row) const {
  return std::min(
      {row.view.length() - row.view.computed_tokens, config_.prefill_chunk_size, budget_});
}

// 5. Admit

void Scheduler::admit() {
  while (running_.size() < config_.max_batch_size && budget_ > 0 && admit_front()) {
  }
}

/// False if nobody waits or the first one does not fit.
bool Scheduler::admit_front() {
  const auto index = queue_.front();
  if (!index) return false;
  Row& row = rows_[*index];
  if (!running_.empty() && !may_fit(row)) return false;
  find_prefix(row);
  while (!fits(row)) {
    if (!running_.empty()) return false;
    end_session_for_memory(row);
  }
  enter_batch(*index);
  return true;
}

/// A bound that needs no look into the index, so that waiting costs nothing.
bool Scheduler::may_fit(const Row& row) const {
  const std::uint32_t blocks = cache_.blocks_for(row.view.length());
  std::uint64_t cached = 0;
  if (row.uses_prefix_cache && !row.is_swapped()) {
    cached = row.match_blocks + (cache_.insertions() - row.match_insertions);
  }
  const std::uint64_t needed = blocks - std::min<std::uint64_t>(cached, blocks);
  return needed + config_.watermark_blocks <= cache_.available_count();
}

void Scheduler::find_prefix(Row& row) {
  match_.clear();
  if (!row.uses_prefix_cache || row.is_swapped()) return;
  cache_.match_prefix(row.tokens, match_);
  // One more may be cached already: the one that is not shared because a token must run.
  row.match_blocks = static_cast<std::uint32_t>(match_.shared.size()) + 1;
  row.match_insertions = cache_.insertions();
}

/// Does without the copied block if that is what it takes.
bool Scheduler::fits(const Row& row) {
  const std::uint64_t kept_free = running_.empty() ? 0 : config_.watermark_blocks;
  const auto fits_now = [&] {
    return cache_.blocks_needed(match_, row.view.length()) + kept_free <= cache_.available_count();
  };
  if (fits_now()) return true;
  if (!match_.copied) return false;
  match_.drop_copy(config_.block_size);
  return fits_now();
}

void Scheduler::enter_batch(RowIndex index) {
  Row& row = rows_[index];
  row.view.overtaken += queue_.admit(index, !row.admitted);
  row.target_blocks = 0;
  row.target_agrees = 0;
  const std::uint32_t cached = row.is_swapped() ? swap_in(row) : start_from_prefix(row);
  row.view.computed_tokens = cached;
  row.view.state = row.decodes ? SequenceState::decoding : SequenceState::prefilling;
  if (row.decodes) ++decoding_count_;
  (row.admitted ? plan_.resumed : plan_.admitted).push_back({row.view.seq, cached});
  row.admitted = true;
  running_.push_back(index);
  plan_slice(index, prefill_count(row), 0);
}

std::uint32_t Scheduler::swap_in(Row& row) {
  const SeqId seq = row.view.seq;
  const auto table = must(cache_.add(seq, match_, row.view.length()));
  const auto host_table = must(host_.block_table(seq));
  for (std::size_t i = 0; i < host_table.size(); ++i) {
    plan_.copies.push_back({CopyKind::swap_in, host_table[i], table[i]});
  }
  must(host_.free(seq));
  row.table_blocks = static_cast<std::uint32_t>(table.size());
  return row.view.computed_tokens;
}

std::uint32_t Scheduler::start_from_prefix(Row& row) {
  const auto table = must(cache_.add(row.view.seq, match_, row.view.length()));
  if (match_.copied) {
    plan_.copies.push_back({CopyKind::within, *match_.copied, table[match_.shared.size()]});
  }
  row.table_blocks = static_cast<std::uint32_t>(table.size());
  if (row.admitted) {
    statistics_.recovered_tokens += match_.tokens;
  } else if (row.uses_prefix_cache) {
    ++statistics_.queries;
    statistics_.hits += match_.tokens > 0 ? 1 : 0;
    statistics_.query_tokens += row.view.prompt_tokens;
    statistics_.hit_tokens += match_.tokens;
  }
  return match_.tokens;
}

// What a plan says of one sequence

void Scheduler::plan_slice(RowIndex index, std::uint32_t count, std::uint32_t drafts) {
  Row& row = rows_[index];
  const std::uint32_t first = row.view.computed_tokens;
  plan_.slices.push_back({.seq = row.view.seq,
                          .first = first,
                          .count = count,
                          .drafts = drafts,
                          .samples = first + count - drafts == row.view.length()});
  slice_rows_.push_back(index);
  budget_ -= count;
  if (row.target_blocks != row.table_blocks || row.target_agrees != row.table_blocks) {
    plan_table(row);
  }
}

void Scheduler::plan_table(Row& row) {
  const auto changed = must(cache_.block_table(row.view.seq)).subspan(row.target_agrees);
  plan_.tables.push_back(
      {.seq = row.view.seq,
       .truncated_to = row.target_agrees,
       .appended_first = static_cast<std::uint32_t>(plan_.appended_blocks.size()),
       .appended_count = static_cast<std::uint32_t>(changed.size())});
  plan_.appended_blocks.insert(plan_.appended_blocks.end(), changed.begin(), changed.end());
  row.target_blocks = row.table_blocks;
  row.target_agrees = row.table_blocks;
}

}  // namespace forge
