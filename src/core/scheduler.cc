// The events of the scheduler; schedule() itself is in schedule.cc.
#include "forge/core/scheduler.h"

#include <algorithm>
#include <limits>

#include "forge/core/check.h"
#include "forge/core/must.h"
#include "forge/core/policy.h"

namespace forge {
namespace {

const SchedulerConfig& checked(const SchedulerConfig& config) {
  const auto valid = validate(config);
  FORGE_CHECK(valid.has_value(), to_string(valid.error()));
  return config;
}

}  // namespace

Scheduler::Scheduler(const SchedulerConfig& config)
    : config_(checked(config)),
      cache_(config.cache.num_blocks, config.cache.block_size,
             config.prefix_cache == PrefixCacheKind::none ? nullptr : make_prefix_index(config),
             config.prefix_cache_max),
      host_(config.cache.num_host_blocks, config.cache.block_size) {}

tl::expected<SeqId, SubmitError> Scheduler::submit(const Request& request) {
  if (auto valid = validate(request, config_); !valid) return tl::unexpected(valid.error());
  if (free_sequences_.empty()) {
    free_sequences_.push_back(static_cast<SequenceIndex>(sequences_.size()));
    sequences_.emplace_back();
    free_sequences_.reserve(sequences_.capacity());
    finishing_.reserve(sequences_.capacity());
  }
  const SequenceIndex index = free_sequences_.back();
  free_sequences_.pop_back();
  Sequence& sequence = sequences_[index];
  std::vector<TokenId> tokens = std::move(sequence.tokens);  // keeps its memory
  sequence = Sequence{};
  sequence.view = {.seq = SeqId{next_seq_++},
                   .priority = request.priority,
                   .prompt_tokens = static_cast<std::uint32_t>(request.prompt.size()),
                   .max_new_tokens = request.max_new_tokens};
  sequence.uses_prefix_cache =
      cache_.index() != nullptr && request.prefix_cache != PrefixCacheUse::disable;
  sequence.cache_salt = request.cache_salt;
  sequence.user = queue_.shares().enter(request.client, request.user);
  sequence.weight = request.weight;
  sequence.session = request.session;
  tokens.clear();
  if (sequence.uses_prefix_cache) {
    tokens.reserve(request.prompt.size() + request.max_new_tokens);
    tokens.assign(request.prompt.begin(), request.prompt.end());
  }
  sequence.tokens = std::move(tokens);

  const SeqId seq = sequence.view.seq;
  plan_is_fresh_ = false;
  index_of_.insert(seq, index);
  wait(index);
  if (request.session) sessions_.begin_request(*request.session);
  const std::uint64_t steps_left = std::numeric_limits<std::uint64_t>::max() - next_step_;
  if (request.deadline_steps > 0 && request.deadline_steps <= steps_left) {
    deadlines_.push(index, seq, StepId{next_step_ + request.deadline_steps});
  }
  return seq;
}

/// Back to its place in the queue, without KV on the device. What it has on the host stays.
void Scheduler::requeue(SequenceIndex index) {
  Sequence& sequence = sequences_[index];
  if (sequence.view.state == SequenceState::decoding) --decoding_count_;
  sequence.view.state = SequenceState::waiting;
  sequence.drafts = 0;
  sequence.table = {};
  // Its new tokens may go on along blocks that others published before it was last looked up.
  sequence.memo.blocks = cache_.blocks_for(sequence.view.length());
  wait(index);
}

void Scheduler::wait(SequenceIndex index) {
  const Sequence& sequence = sequences_[index];
  queue_.push(index, {.key = admission_key(sequence.view, config_),
                      .priority = sequence.view.priority,
                      .resumes = sequence.admitted,
                      .user = sequence.user});
}

tl::expected<void, UnknownSequence> Scheduler::cancel(SeqId seq, FinishReason reason) {
  FORGE_CHECK(reason != FinishReason::none, "cancel needs a reason");
  const auto index = index_of_.find(seq);
  if (!index) return tl::unexpected(UnknownSequence{seq});
  finish(*index, reason);
  return {};
}

tl::expected<void, UnknownSession> Scheduler::release_session(SessionId session) {
  if (!sessions_.contains(session)) return tl::unexpected(UnknownSession{session});
  for (const SequenceIndex index : finishing_) {
    if (sequences_[index].session != session) continue;
    sessions_.end_request(session, StepId{next_step_});
    sequences_[index].session.reset();
  }
  end_session(session);
  return {};
}

void Scheduler::clear_prefix_cache() {
  while (const auto session = sessions_.first_to_end()) end_session(*session);
  cache_.clear_index();
  plan_is_fresh_ = false;
}

void Scheduler::end_session(SessionId session) {
  plan_is_fresh_ = false;
  cache_.unpin(sessions_.end(session));
}

void Scheduler::commit(const StepPlan& plan, const StepResult& result) {
  FORGE_CHECK(in_flight_ && plan.step == plan_.step, "step ", plan.step.value, " is not in flight");
  FORGE_CHECK(result.step == plan_.step, "plan of step ", plan_.step.value, ", result of step ",
              result.step.value);
  FORGE_CHECK(result.slices.size() == plan_.slices.size(), plan_.slices.size(), " slices, ",
              result.slices.size(), " answers");
  if (result.kv_lost) {
    lose_kv();
  } else {
    commit_slices(plan, result);
  }
  cache_.take_changes(cache_delta_);
  in_flight_ = false;
  plan_is_fresh_ = false;
}

void Scheduler::commit_slices(const StepPlan& plan, const StepResult& result) {
  bool all_failed = true;
  for (std::size_t i = 0; i < slice_sequences_.size(); ++i) {
    commit_slice(plan.slices[i], result, result.slices[i], slice_sequences_[i]);
    all_failed = all_failed && result.slices[i].signal == FinishSignal::error;
  }
  if (all_failed && !plan.preempted.empty()) forget_failed_swaps();
}

void Scheduler::commit_slice(const Slice& slice, const StepResult& result,
                             const SliceResult& answer, SequenceIndex index) {
  FORGE_CHECK(answer.seq == slice.seq, "slice of sequence ", slice.seq.value, ", answer of ",
              answer.seq.value);
  if (has_failed(answer.signal)) return finish(index, FinishReason::error);
  const std::uint32_t count = answer.token_count;
  FORGE_CHECK(slice.samples ? count >= 1 && count <= slice.drafts + 1 : count == 0, "sequence ",
              slice.seq.value, ": ", count, " tokens for ", slice.drafts, " drafts",
              slice.samples ? "" : " of a slice that does not sample");
  FORGE_CHECK(answer.first_token + std::size_t{count} <= result.tokens.size(), "sequence ",
              slice.seq.value, ": tokens ", answer.first_token, " + ", count, " of ",
              result.tokens.size());
  Sequence& sequence = sequences_[index];
  if (!slice.samples) return advance(sequence, slice.first + slice.count);

  const std::uint32_t rejected = slice.drafts + 1 - count;
  if (rejected > 0) {
    sequence.table.cut_to(must(cache_.rollback(slice.seq, rejected)));
  }
  sequence.view.output_tokens += count;
  if (sequence.uses_prefix_cache) {
    const auto tokens = result.tokens_of(answer);
    sequence.tokens.insert(sequence.tokens.end(), tokens.begin(), tokens.end());
  }
  if (sequence.view.state == SequenceState::prefilling) {
    sequence.view.state = SequenceState::decoding;
    ++decoding_count_;
  }
  sequence.decodes = true;
  advance(sequence, sequence.view.length() - 1);
  if (answer.signal == FinishSignal::eos) return finish(index, FinishReason::eos);
  const std::uint32_t left = sequence.view.max_new_tokens - sequence.view.output_tokens;
  if (left == 0) return finish(index, FinishReason::length);
  if (config_.draft_lengths == DraftLengths::adaptive) {
    sequence.draft_history.add(slice.drafts, count - 1);
  }
  sequence.drafts =
      std::min(drafts_wanted(answer.drafts, sequence.draft_history, config_), left - 1);
}

/// The KV of the first `computed_tokens` tokens is valid now; blocks that are full thereby are
/// shown to others.
void Scheduler::advance(Sequence& sequence, std::uint32_t computed_tokens) {
  const std::uint32_t before = sequence.view.computed_tokens;
  sequence.view.computed_tokens = computed_tokens;
  const std::uint32_t block_size = config_.cache.block_size;
  const bool fills_a_block = before % block_size + (computed_tokens - before) >= block_size;
  if (!sequence.uses_prefix_cache || !fills_a_block) return;
  const auto changed =
      must(cache_.publish(sequence.view.seq, sequence.salted_tokens(), computed_tokens));
  if (changed) sequence.table.change_from(*changed);
}

/// The step did not happen, so what it was to copy to the host is not there.
void Scheduler::forget_failed_swaps() {
  for (const Preemption& preemption : plan_.preempted) {
    if (preemption.mode != PreemptionMode::swap) continue;
    Sequence& sequence = sequences_[*index_of_.find(preemption.seq)];
    must(host_.free(preemption.seq));
    sequence.drop_kv();
  }
}

/// Everything starts from its first token again. What has begun goes first in the queue, so the
/// batch comes back before anything new enters.
void Scheduler::lose_kv() {
  clear_prefix_cache();
  for (const SequenceIndex index : in_order_of_ids()) {
    Sequence& sequence = sequences_[index];
    const SeqId seq = sequence.view.seq;
    if (cache_.contains(seq)) must(cache_.free(seq));
    sequence.table = {};
    if (!host_.contains(seq)) continue;
    must(host_.free(seq));
    sequence.drop_kv();
  }
  for (const SequenceIndex index : running_) {
    if (sequences_[index].view.state == SequenceState::finishing) continue;
    sequences_[index].drop_kv();
    requeue(index);
  }
  running_.clear();
}

void Scheduler::finish(SequenceIndex index, FinishReason reason) {
  Sequence& sequence = sequences_[index];
  if (sequence.view.state == SequenceState::finishing) return;
  if (sequence.view.state == SequenceState::waiting) queue_.erase(index);
  if (sequence.view.state == SequenceState::decoding) --decoding_count_;
  plan_is_fresh_ = false;
  sequence.view.state = SequenceState::finishing;
  sequence.view.finish = reason;
  deadlines_.erase(index);
  finishing_.push_back(index);
}

}  // namespace forge
