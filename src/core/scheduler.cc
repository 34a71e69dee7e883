// The events of the scheduler; schedule() itself is in schedule.cc.
#include "forge/core/scheduler.h"

#include <algorithm>
#include <limits>

#include "forge/core/check.h"
#include "forge/core/must.h"

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
      cache_(config.num_blocks, config.block_size,
             config.prefix_cache == PrefixCacheKind::none ? nullptr : make_prefix_index(config)),
      host_(config.num_host_blocks, config.block_size),
      queue_(config.priority_head_start) {}

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
  Row& row = rows_[index];
  std::vector<TokenId> tokens = std::move(row.tokens);  // keeps its memory
  row = Row{};
  row.view = {.seq = SeqId{next_seq_++},
              .priority = request.priority,
              .prompt_tokens = static_cast<std::uint32_t>(request.prompt.size()),
              .max_new_tokens = request.max_new_tokens};
  row.uses_prefix_cache =
      cache_.index() != nullptr && request.prefix_cache != PrefixCacheUse::disable;
  row.session = request.session;
  tokens.clear();
  if (row.uses_prefix_cache) {
    tokens.reserve(request.prompt.size() + request.max_new_tokens);
    tokens.assign(request.prompt.begin(), request.prompt.end());
  }
  row.tokens = std::move(tokens);

  const SeqId seq = row.view.seq;
  plan_is_fresh_ = false;
  rows_of_.insert(seq, index);
  queue_.push(index, seq, request.priority);
  if (request.session) sessions_.begin_request(*request.session);
  const std::uint64_t steps_left = std::numeric_limits<std::uint64_t>::max() - next_step_;
  if (request.deadline_steps > 0 && request.deadline_steps <= steps_left) {
    deadlines_.push(index, seq, StepId{next_step_ + request.deadline_steps});
  }
  return seq;
}

tl::expected<void, UnknownSequence> Scheduler::cancel(SeqId seq, FinishReason reason) {
  FORGE_CHECK(reason != FinishReason::none, "cancel needs a reason");
  const auto index = rows_of_.find(seq);
  if (!index) return tl::unexpected(UnknownSequence{seq});
  finish(*index, reason);
  return {};
}

tl::expected<void, UnknownSession> Scheduler::release_session(SessionId session) {
  if (!sessions_.contains(session)) return tl::unexpected(UnknownSession{session});
  for (const RowIndex index : finishing_) {
    if (rows_[index].session != session) continue;
    sessions_.end_request(session, StepId{next_step_});
    rows_[index].session.reset();
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
  cache_.unpin(sessions_.pinned(session));
  sessions_.end(session);
}

void Scheduler::commit(const StepPlan& plan, const StepResult& result) {
  FORGE_CHECK(in_flight_ && plan.step == plan_.step, "step ", plan.step.value, " is not in flight");
  FORGE_CHECK(result.step == plan_.step, "plan of step ", plan_.step.value, ", result of step ",
              result.step.value);
  FORGE_CHECK(result.slices.size() == plan_.slices.size(), plan_.slices.size(), " slices, ",
              result.slices.size(), " answers");
  bool all_failed = true;
  for (std::size_t i = 0; i < slice_rows_.size(); ++i) {
    commit_slice(plan_.slices[i], result, result.slices[i], slice_rows_[i]);
    all_failed = all_failed && result.slices[i].signal == FinishSignal::error;
  }
  if (all_failed && !plan_.preempted.empty()) forget_failed_swaps();
  in_flight_ = false;
  plan_is_fresh_ = false;
}

void Scheduler::commit_slice(const Slice& slice, const StepResult& result,
                             const SliceResult& answer, RowIndex index) {
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
  Row& row = rows_[index];
  if (!slice.samples) return advance(row, slice.first + slice.count);

  const std::uint32_t rejected = slice.drafts + 1 - count;
  if (rejected > 0) {
    row.table_blocks = must(cache_.rollback(slice.seq, rejected));
    row.target_agrees = std::min(row.target_agrees, row.table_blocks);
  }
  row.view.output_tokens += count;
  if (row.uses_prefix_cache) {
    const auto tokens = result.tokens_of(answer);
    row.tokens.insert(row.tokens.end(), tokens.begin(), tokens.end());
  }
  if (row.view.state == SequenceState::prefilling) {
    row.view.state = SequenceState::decoding;
    ++decoding_count_;
  }
  row.decodes = true;
  advance(row, row.view.length() - 1);
  if (answer.signal == FinishSignal::eos) return finish(index, FinishReason::eos);
  const std::uint32_t left = row.view.max_new_tokens - row.view.output_tokens;
  if (left == 0) return finish(index, FinishReason::length);
  row.drafts = std::min(answer.drafts, left - 1);
}

/// The KV of the first `computed_tokens` tokens is valid now; blocks that are full thereby are
/// shown to others.
void Scheduler::advance(Row& row, std::uint32_t computed_tokens) {
  const std::uint32_t before = row.view.computed_tokens;
  row.view.computed_tokens = computed_tokens;
  const std::uint32_t block_size = config_.block_size;
  const bool fills_a_block = before % block_size + (computed_tokens - before) >= block_size;
  if (!row.uses_prefix_cache || !fills_a_block) return;
  const auto changed = must(cache_.publish(row.view.seq, row.tokens, computed_tokens));
  if (changed) row.target_agrees = std::min(row.target_agrees, *changed);
}

/// The step did not happen, so what it was to copy to the host is not there.
void Scheduler::forget_failed_swaps() {
  for (const Preemption& preemption : plan_.preempted) {
    if (preemption.mode != PreemptionMode::swap) continue;
    Row& row = rows_[*rows_of_.find(preemption.seq)];
    must(host_.free(preemption.seq));
    row.view.computed_tokens = 0;
    row.decodes = false;
  }
}

void Scheduler::finish(RowIndex index, FinishReason reason) {
  Row& row = rows_[index];
  if (row.view.state == SequenceState::finishing) return;
  if (row.view.state == SequenceState::waiting) queue_.erase(index);
  if (row.view.state == SequenceState::decoding) --decoding_count_;
  plan_is_fresh_ = false;
  row.view.state = SequenceState::finishing;
  row.view.finish = reason;
  deadlines_.erase(index);
  finishing_.push_back(index);
}

}  // namespace forge
