// Scheduler::schedule(), in the order of scheduler.h.
#include <algorithm>

#include "forge/core/check.h"
#include "forge/core/must.h"
#include "forge/core/policy.h"
#include "forge/core/scheduler.h"

namespace forge {

const StepPlan& Scheduler::schedule() {
  FORGE_CHECK(!in_flight_, "step ", plan_.step.value, " has not been committed");
  plan_.clear();
  slice_sequences_.clear();
  plan_.step = StepId{next_step_++};
  budget_ = config_.batch.max_batch_tokens;
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
  std::erase_if(running_, [&](SequenceIndex index) {
    return sequences_[index].view.state == SequenceState::finishing;
  });
  for (const SequenceIndex index : finishing_) retire_sequence(index);
  finishing_.clear();
}

void Scheduler::retire_sequence(SequenceIndex index) {
  const Sequence& sequence = sequences_[index];
  const SeqId seq = sequence.view.seq;
  plan_.finished.push_back({seq, sequence.view.finish});
  if (sequence.session) keep_for_session(sequence);
  if (cache_.contains(seq)) must(cache_.free(seq));
  if (host_.contains(seq)) must(host_.free(seq));
  index_of_.erase(seq);
  queue_.shares().leave(sequence.user);
  free_sequences_.push_back(index);
}

/// A turn that came to its end leaves its KV to the session, in place of that of the turn before.
void Scheduler::keep_for_session(const Sequence& sequence) {
  const FinishReason reason = sequence.view.finish;
  const bool complete =
      reason == FinishReason::eos || reason == FinishReason::length || reason == FinishReason::stop;
  if (complete && cache_.contains(sequence.view.seq)) {
    std::vector<BlockId> pins;
    must(cache_.pin(sequence.view.seq, pins));
    cache_.unpin(sessions_.exchange_pins(*sequence.session, std::move(pins)));
  }
  sessions_.end_request(*sequence.session, plan_.step);
}

// 3. Decode

void Scheduler::make_room() {
  if (decoding_count_ == 0) return;
  trim_drafts(false);
  if (blocks_to_decode_all() <= cache_.available_count()) return;
  trim_drafts(true);
  std::uint64_t needed = blocks_to_decode_all();
  while (needed > cache_.available_count()) {
    const std::size_t others = running_.size() - 1;
    if (sessions_give_way(others) && end_session_for_memory()) continue;
    FORGE_CHECK(others > 0, "sequence ", sequences_[running_.front()].view.seq.value,
                " does not fit alone");
    const std::size_t victim = choose_victim();
    const Sequence& sequence = sequences_[running_[victim]];
    if (sequence.view.state == SequenceState::decoding) needed -= blocks_to_decode(sequence);
    preempt(victim);
  }
}

/// Every decoding sequence runs; drafts share what is left.
void Scheduler::trim_drafts(bool blocks_are_short) {
  DraftRoom room{config_.batch.max_batch_tokens - decoding_count_, blocks_are_short};
  for (const SequenceIndex index : running_) {
    std::uint32_t& drafts = sequences_[index].drafts;
    if (drafts == 0) continue;
    drafts = drafts_kept(drafts, room);
    room.tokens -= drafts;
  }
}

/// It decodes into the slot after the valid tokens and on.
std::uint32_t Scheduler::blocks_to_decode(const Sequence& sequence) const {
  return cache_.blocks_for(sequence.view.length() + sequence.drafts) - sequence.table.length;
}

std::uint64_t Scheduler::blocks_to_decode_all() const {
  std::uint64_t needed = 0;
  for (const SequenceIndex index : running_) {
    const Sequence& sequence = sequences_[index];
    if (sequence.view.state == SequenceState::decoding) needed += blocks_to_decode(sequence);
  }
  return needed;
}

/// False if no session has anything. Then one sequence alone fits: validate() refused what could
/// not finish alone.
bool Scheduler::end_session_for_memory() {
  const auto session = sessions_.first_to_end();
  if (session) end_session(*session);
  return session.has_value();
}

std::size_t Scheduler::choose_victim() const {
  const auto victim = std::ranges::min_element(running_, [&](SequenceIndex a, SequenceIndex b) {
    return is_better_victim(sequences_[a].view, sequences_[b].view);
  });
  return static_cast<std::size_t>(victim - running_.begin());
}

void Scheduler::preempt(std::size_t running_index) {
  const SequenceIndex index = running_[running_index];
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(running_index));
  Sequence& sequence = sequences_[index];
  const PreemptionMode mode =
      host_has_room(sequence) ? preemption_mode(sequence.view, config_) : PreemptionMode::recompute;
  if (mode == PreemptionMode::swap) {
    swap_out(sequence);
  } else {
    sequence.drop_kv();
  }
  plan_.preempted.push_back({sequence.view.seq, mode});
  must(cache_.free(sequence.view.seq));
  ++sequence.view.preemptions;
  requeue(index);
}

/// False if it has no KV, too.
bool Scheduler::host_has_room(const Sequence& sequence) const {
  const std::uint32_t tokens = sequence.view.computed_tokens;
  return tokens > 0 && cache_.blocks_for(tokens) <= host_.available_count();
}

void Scheduler::swap_out(const Sequence& sequence) {
  const SeqId seq = sequence.view.seq;
  const auto table = must(cache_.block_table(seq));
  must(host_.add(seq));
  const auto host_table = must(host_.append(seq, sequence.view.computed_tokens)).blocks;
  for (std::size_t i = 0; i < host_table.size(); ++i) {
    plan_.copies.push_back({CopyKind::swap_out, table[i], host_table[i]});
  }
}

void Scheduler::plan_decodes() {
  if (decoding_count_ == 0) return;
  for (const SequenceIndex index : running_) {
    Sequence& sequence = sequences_[index];
    if (sequence.view.state != SequenceState::decoding) continue;
    sequence.table.length += must(cache_.append(sequence.view.seq, 1 + sequence.drafts)).appended;
    plan_slice(index, 1 + sequence.drafts, sequence.drafts);
  }
  plan_.decodes = static_cast<std::uint32_t>(plan_.slices.size());
  budget_ = std::min(budget_, prompt_budget(plan_.decodes, config_));
}

// 4. Prefill

void Scheduler::plan_prefills() {
  if (decoding_count_ == running_.size()) return;
  for (const SequenceIndex index : running_) {
    if (budget_ == 0) return;
    const Sequence& sequence = sequences_[index];
    if (sequence.view.state == SequenceState::prefilling) plan_chunk(index);
  }
}

void Scheduler::plan_chunk(SequenceIndex index) {
  plan_slice(index, prompt_chunk(sequences_[index].view, budget_, config_), 0);
}

// 5. Admit

void Scheduler::admit() {
  while (running_.size() < config_.batch.max_batch_size && budget_ > 0 && admit_front()) {
  }
}

/// False if nobody waits or the first one does not fit.
bool Scheduler::admit_front() {
  const auto index = queue_.front();
  if (!index) return false;
  Sequence& sequence = sequences_[*index];
  if (!sessions_give_way(running_.size()) && !may_fit(sequence)) return false;
  find_prefix(sequence);
  while (!fits(sequence)) {
    if (sessions_give_way(running_.size()) && end_session_for(sequence)) continue;
    FORGE_CHECK(!running_.empty(), "sequence ", sequence.view.seq.value, " does not fit alone");
    return false;
  }
  enter_batch(*index);
  return true;
}

/// What the session held may not be cached any more (prefix_cache_max).
bool Scheduler::end_session_for(Sequence& sequence) {
  if (!end_session_for_memory()) return false;
  find_prefix(sequence);
  match_.drop_copy(config_.cache.block_size);
  return true;
}

/// A bound that needs no look into the index, so that waiting costs nothing.
bool Scheduler::may_fit(const Sequence& sequence) const {
  const std::uint32_t blocks = cache_.blocks_for(sequence.view.length());
  std::uint64_t cached = 0;
  if (sequence.uses_prefix_cache && !sequence.is_swapped()) {
    cached = sequence.memo.blocks_max(cache_.insertions());
  }
  const std::uint64_t needed = blocks - std::min<std::uint64_t>(cached, blocks);
  return needed + blocks_kept_free(running_.size(), config_) <= cache_.available_count();
}

void Scheduler::find_prefix(Sequence& sequence) {
  match_.clear();
  if (!sequence.uses_prefix_cache || sequence.is_swapped()) return;
  cache_.match_prefix(sequence.salted_tokens(), match_);
  // One more may be cached already: the one that is not shared because a token must run.
  sequence.memo = {match_.shared.size() + 1, cache_.insertions()};
}

/// Does without the copied block if that is what it takes.
bool Scheduler::fits(const Sequence& sequence) {
  const std::uint64_t kept_free = blocks_kept_free(running_.size(), config_);
  const auto fits_now = [&] {
    return cache_.blocks_needed(match_, sequence.view.length()) + kept_free <=
           cache_.available_count();
  };
  if (fits_now()) return true;
  if (!match_.copied) return false;
  match_.drop_copy(config_.cache.block_size);
  return fits_now();
}

void Scheduler::enter_batch(SequenceIndex index) {
  Sequence& sequence = sequences_[index];
  sequence.view.overtaken += queue_.admit(index);
  const std::uint32_t cached =
      sequence.is_swapped() ? swap_in(sequence) : start_from_prefix(sequence);
  sequence.view.computed_tokens = cached;
  if (!sequence.admitted) sequence.charged_tokens = cached;
  sequence.view.state = sequence.decodes ? SequenceState::decoding : SequenceState::prefilling;
  if (sequence.decodes) ++decoding_count_;
  (sequence.admitted ? plan_.resumed : plan_.admitted).push_back({sequence.view.seq, cached});
  sequence.admitted = true;
  running_.push_back(index);
  plan_chunk(index);
}

std::uint32_t Scheduler::swap_in(Sequence& sequence) {
  const SeqId seq = sequence.view.seq;
  const auto table = must(cache_.add(seq, match_, sequence.view.length()));
  const auto host_table = must(host_.block_table(seq));
  for (std::size_t i = 0; i < host_table.size(); ++i) {
    plan_.copies.push_back({CopyKind::swap_in, host_table[i], table[i]});
  }
  must(host_.free(seq));
  sequence.table.length = static_cast<std::uint32_t>(table.size());
  return sequence.view.computed_tokens;
}

std::uint32_t Scheduler::start_from_prefix(Sequence& sequence) {
  const auto table = must(cache_.add(sequence.view.seq, match_, sequence.view.length()));
  if (match_.copied) {
    plan_.copies.push_back({CopyKind::within, *match_.copied, table[match_.shared.size()]});
  }
  sequence.table.length = static_cast<std::uint32_t>(table.size());
  if (sequence.admitted) {
    statistics_.recovered_tokens += match_.tokens;
  } else if (sequence.uses_prefix_cache) {
    ++statistics_.queries;
    statistics_.hits += match_.tokens > 0 ? 1 : 0;
    statistics_.query_tokens += sequence.view.prompt_tokens;
    statistics_.hit_tokens += match_.tokens;
  }
  return match_.tokens;
}

// What a plan says of one sequence

void Scheduler::plan_slice(SequenceIndex index, std::uint32_t count, std::uint32_t drafts) {
  Sequence& sequence = sequences_[index];
  const std::uint32_t first = sequence.view.computed_tokens;
  plan_.slices.push_back({.seq = sequence.view.seq,
                          .first = first,
                          .count = count,
                          .drafts = drafts,
                          .samples = first + count - drafts == sequence.view.length()});
  slice_sequences_.push_back(index);
  budget_ -= count;
  charge(sequence, first + count - drafts);
  if (!sequence.table.target_has_it()) plan_table(sequence);
}

/// Its client pays for its first `tokens` tokens, for each once.
void Scheduler::charge(Sequence& sequence, std::uint32_t tokens) {
  if (tokens <= sequence.charged_tokens) return;
  queue_.shares().charge(sequence.user, tokens - sequence.charged_tokens, sequence.weight);
  sequence.charged_tokens = tokens;
}

void Scheduler::plan_table(Sequence& sequence) {
  const auto changed = must(cache_.block_table(sequence.view.seq)).subspan(sequence.table.agrees);
  plan_.tables.push_back(
      {.seq = sequence.view.seq,
       .truncated_to = sequence.table.agrees,
       .appended_first = static_cast<std::uint32_t>(plan_.appended_blocks.size()),
       .appended_count = static_cast<std::uint32_t>(changed.size())});
  plan_.appended_blocks.insert(plan_.appended_blocks.end(), changed.begin(), changed.end());
  sequence.table.tell_target();
}

}  // namespace forge
