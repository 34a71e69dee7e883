#include <algorithm>

#include "forge/core/must.h"
#include "forge/core/policy.h"
#include "invariant_checks.h"

namespace forge::detail {
namespace {

// 3: the blocks that a slice writes belong to it alone.
Violation check_writes(const PagedKVCache& cache, const Slice& slice) {
  const auto table = must(cache.block_table(slice.seq));
  const std::uint32_t last = (slice.first + slice.count - 1) / cache.block_size();
  for (std::uint32_t i = slice.first / cache.block_size(); i <= last; ++i) {
    const bool cached = cache.index() != nullptr && cache.index()->contains(table[i]);
    if (cached || cache.pool().holders(table[i]) != 1) {
      return violated(3, "sequence ", slice.seq.value, " writes to block ", table[i].value, " of ",
                      cache.pool().holders(table[i]), " holders", cached ? ", cached" : "");
    }
  }
  return std::nullopt;
}

// 5: the delta of a table, if there is one, ends as the table does.
Violation check_delta(const Scheduler& scheduler, SeqId seq) {
  const StepPlan& plan = scheduler.plan();
  const auto table = must(scheduler.cache().block_table(seq));
  for (const TableDelta& delta : plan.tables) {
    if (delta.seq != seq) continue;
    const auto appended = plan.appended(delta);
    if (delta.truncated_to + appended.size() != table.size() ||
        !std::equal(appended.begin(), appended.end(), table.begin() + delta.truncated_to)) {
      return violated(5, "table delta of sequence ", seq.value, " misses its table");
    }
  }
  return std::nullopt;
}

Violation check_slice(const Scheduler& scheduler, const Slice& slice, bool is_decode) {
  const SequenceView view = scheduler.view(slice.seq).value();
  const auto slots = scheduler.cache().tokens(slice.seq);
  const std::uint32_t end = slice.first + slice.count;
  const bool reaches_end = end - slice.drafts == view.length();
  const bool is_right = slots && end <= *slots && slice.count > slice.drafts &&
                        slice.first == view.computed_tokens && slice.samples == reaches_end &&
                        end - slice.drafts <= view.length() && (slice.drafts == 0 || slice.samples);
  if (!is_right) {
    return violated(5, "sequence ", view.seq.value, " of length ", view.length(), ", ",
                    view.computed_tokens, " valid, runs [", slice.first, ", ", end, ") with ",
                    slice.drafts, " drafts in ", slots.value_or(0), " slots",
                    slice.samples ? ", samples" : "");
  }
  if (!is_decode && slice.count > scheduler.config().prefill_chunk_size) {
    return violated(6, "sequence ", view.seq.value, " runs a chunk of ", slice.count);
  }
  if (auto violation = check_delta(scheduler, slice.seq)) return violation;
  return check_writes(scheduler.cache(), slice);
}

// 7: who has no slice is still in its prompt, and no token was left for it.
Violation check_left_out(const Scheduler& scheduler, bool tokens_are_left) {
  const StepPlan& plan = scheduler.plan();
  for (const SequenceView& view : scheduler.running()) {
    const auto position = std::ranges::find(plan.slices, view.seq, &Slice::seq);
    const auto index = static_cast<std::size_t>(position - plan.slices.begin());
    if (position != plan.slices.end()) {
      if (std::ranges::count(plan.slices, view.seq, &Slice::seq) > 1) {
        return violated(7, "sequence ", view.seq.value, " has two slices");
      }
      if (view.state == SequenceState::prefilling && index < plan.decodes) {
        return violated(7, "the prompt of sequence ", view.seq.value, " is among the decodes");
      }
      continue;
    }
    if (view.state == SequenceState::decoding) {
      return violated(7, "sequence ", view.seq.value, " could decode and was left out");
    }
    if (view.state == SequenceState::prefilling && tokens_are_left) {
      return violated(7, "the prompt of sequence ", view.seq.value, " was left out with ",
                      plan.slices.size(), " slices in the step");
    }
  }
  return std::nullopt;
}

// 8: the queue moved as far as it could.
Violation check_admission(const Scheduler& scheduler, bool tokens_are_left) {
  const SchedulerConfig& config = scheduler.config();
  const auto waiting = scheduler.waiting();
  if (waiting.empty() || !scheduler.plan().preempted.empty() ||
      scheduler.running_count() >= config.batch.max_batch_size || !tokens_are_left) {
    return std::nullopt;
  }
  const SequenceView& front = waiting.front();
  const PagedKVCache& cache = scheduler.cache();
  PrefixMatch match;
  if (front.computed_tokens == 0) {
    cache.match_prefix(must(scheduler.salted_tokens(front.seq)), match);
  }
  match.drop_copy(cache.block_size());
  const std::uint64_t needed = cache.blocks_needed(match, front.length());
  const std::uint32_t kept_free = blocks_kept_free(scheduler.running_count(), config);
  if (needed + kept_free <= cache.available_count()) {
    return violated(8, "sequence ", front.seq.value, " waits for ", needed, " blocks with ",
                    cache.available_count(), " available");
  }
  return std::nullopt;
}

}  // namespace

Violation check_plan(const Scheduler& scheduler) {
  const StepPlan& plan = scheduler.plan();
  if (scheduler.running_count() > scheduler.config().batch.max_batch_size) {
    return violated(6, scheduler.running_count(), " sequences run");
  }
  std::uint64_t tokens = 0;
  std::uint64_t prompt_tokens = 0;
  for (std::size_t i = 0; i < plan.slices.size(); ++i) {
    tokens += plan.slices[i].count;
    if (i >= plan.decodes) prompt_tokens += plan.slices[i].count;
    if (auto violation = check_slice(scheduler, plan.slices[i], i < plan.decodes)) return violation;
  }
  const SchedulerConfig& config = scheduler.config();
  const std::uint32_t for_prompts = prompt_budget(plan.decodes, config);
  if (tokens > config.batch.max_batch_tokens) return violated(6, tokens, " tokens run");
  if (prompt_tokens > for_prompts) return violated(6, prompt_tokens, " tokens of prompts run");
  const bool tokens_are_left =
      tokens < config.batch.max_batch_tokens && prompt_tokens < for_prompts;
  if (auto violation = check_left_out(scheduler, tokens_are_left)) return violation;
  // What happened since may have made room.
  return scheduler.plan_is_fresh() ? check_admission(scheduler, tokens_are_left) : std::nullopt;
}

}  // namespace forge::detail
