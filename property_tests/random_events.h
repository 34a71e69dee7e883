// Random configurations, requests and outcomes for property tests of the policy: small memories, so
// that blocks run out, and prompts that share their beginnings.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>

#include "forge/core/request.h"
#include "forge/core/scheduler_config.h"
#include "forge/core/step_plan.h"

namespace forge::testing {

/// From the whole range in every case: a small case is not one that runs out of memory.
inline std::uint32_t any(std::uint32_t lowest, std::uint32_t highest) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(lowest, highest + 1));
}

inline SchedulerConfig any_config() {
  const std::uint32_t max_batch_size = any(1, 12);
  const std::uint32_t num_blocks = any(1, 60);
  return {
      .cache = {.num_blocks = num_blocks,
                .block_size = *rc::gen::element<std::uint32_t>(1, 2, 3, 4, 16),
                .num_host_blocks = any(0, 30)},
      .batch = {.max_batch_size = max_batch_size,
                .max_batch_tokens =
                    max_batch_size + *rc::gen::element<std::uint32_t>(0, 3, 40, 500)},
      .prefill_chunk_size = *rc::gen::element<std::uint32_t>(1, 5, 16, 512),
      .watermark_blocks = std::min(num_blocks, any(0, 3)),
      .memory_pressure = *rc::gen::element<std::uint32_t>(100, 100, 90, 50, 1),
      .decode_priority = *rc::gen::element<std::uint32_t>(0, 0, 30, 100),
      .priority_head_start = any(0, 6),
      .preemption = *rc::gen::element(PreemptionPolicy::automatic, PreemptionPolicy::recompute,
                                      PreemptionPolicy::swap),
      .swap_setup_cost = any(0, 8),
      .draft_lengths = *rc::gen::element(DraftLengths::fixed, DraftLengths::adaptive),
      .draft_break_even = any(0, 100),
      .prefix_cache =
          *rc::gen::element(PrefixCacheKind::none, PrefixCacheKind::radix, PrefixCacheKind::hash),
      .prefix_cache_max = *rc::gen::element<std::uint32_t>(0, 1, 8, 1000, 1000),
      .session_idle_steps = any(1, 20),
  };
}

/// Prompts are made to meet: one of a few beginnings, then a tail of few different tokens.
inline Request any_request(const SchedulerConfig& config) {
  const std::uint32_t longest =
      std::min(config.cache.num_blocks * config.cache.block_size + 1, 150U);
  Request request;
  request.prompt.assign(any(0, longest / any(1, 6)), TokenId{any(1, 2)});
  for (std::size_t i = request.prompt.size() - request.prompt.size() / 3; i < request.prompt.size();
       ++i) {
    request.prompt[i] = TokenId{*rc::gen::weightedElement<std::uint32_t>({{9, 1}, {1, 3}})};
  }
  request.max_new_tokens = any(0, 40);
  request.priority = *rc::gen::element(Priority::low, Priority::normal, Priority::high);
  if (any(0, 2) == 0) {
    request.client = ClientId{any(0, 3)};
    request.user = UserId{any(0, 2)};
    request.weight = *rc::gen::element<std::uint32_t>(1, 1, 3, 1000);
  }
  request.prefix_cache = *rc::gen::weightedElement<PrefixCacheUse>(
      {{9, PrefixCacheUse::automatic}, {1, PrefixCacheUse::disable}});
  if (any(0, 9) == 0) request.deadline_steps = any(1, 12);
  if (any(0, 3) == 0) request.session = SessionId{any(1, 3)};
  if (any(0, 3) == 0) request.cache_salt = CacheSalt{any(1, 2)};
  return request;
}

/// Random outcome of a step: accepted drafts, eos now and then, rarely an error, no step at all or
/// all KV lost.
inline StepResult any_result(const StepPlan& plan) {
  StepResult result;
  const std::uint32_t fate = any(0, 79);
  if (fate < 3) {
    fate < 2 ? fail_step(plan, result) : lose_step(plan, result);
    return result;
  }
  result.step = plan.step;
  for (const Slice& slice : plan.slices) {
    SliceResult answer{.seq = slice.seq,
                       .first_token = static_cast<std::uint32_t>(result.tokens.size())};
    const std::uint32_t luck = any(0, 29);
    if (luck == 0) {
      answer.signal = FinishSignal::error;
    } else if (luck == 2 && slice.samples) {
      answer.signal = FinishSignal::not_finite;
    } else if (slice.samples) {
      answer.token_count = any(1, slice.drafts + 1);
      answer.drafts = *rc::gen::weightedElement<std::uint32_t>({{3, 0}, {2, 1}, {2, 4}, {1, 8}});
      if (luck == 1) answer.signal = FinishSignal::eos;
    }
    for (std::uint32_t i = 0; i < answer.token_count; ++i) {
      result.tokens.push_back(TokenId{any(0, 9) == 0 ? 3U : 1U});
    }
    result.slices.push_back(answer);
  }
  return result;
}

}  // namespace forge::testing
