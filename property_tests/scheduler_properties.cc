// Stateful tests of Scheduler: random events and outcomes against ModelScheduler, every invariant
// after every operation, and a target that knows only the plans.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>

#include "policy_world.h"

namespace forge {
namespace {

using testing::PolicyWorld;

/// From the whole range in every case: a small case is not one that runs out of memory.
std::uint32_t any(std::uint32_t lowest, std::uint32_t highest) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(lowest, highest + 1));
}

SchedulerConfig any_config() {
  const std::uint32_t max_batch_size = any(1, 12);
  const std::uint32_t num_blocks = any(1, 60);
  return {
      .num_blocks = num_blocks,
      .block_size = *rc::gen::element<std::uint32_t>(1, 2, 3, 4, 16),
      .num_host_blocks = any(0, 30),
      .max_batch_size = max_batch_size,
      .max_batch_tokens = max_batch_size + *rc::gen::element<std::uint32_t>(0, 3, 40, 500),
      .prefill_chunk_size = *rc::gen::element<std::uint32_t>(1, 5, 16, 512),
      .watermark_blocks = std::min(num_blocks, any(0, 3)),
      .priority_head_start = any(0, 6),
      .preemption = *rc::gen::element(PreemptionPolicy::automatic, PreemptionPolicy::recompute,
                                      PreemptionPolicy::swap),
      .swap_setup_cost = any(0, 8),
      .prefix_cache =
          *rc::gen::element(PrefixCacheKind::none, PrefixCacheKind::radix, PrefixCacheKind::hash),
      .session_idle_steps = any(1, 20),
  };
}

/// Prompts are made to meet: one of a few beginnings, then a tail of few different tokens.
Request any_request(const SchedulerConfig& config) {
  const std::uint32_t longest = std::min(config.num_blocks * config.block_size + 1, 150U);
  Request request;
  request.prompt.assign(any(0, longest / any(1, 6)), TokenId{any(1, 2)});
  for (std::size_t i = request.prompt.size() - request.prompt.size() / 3; i < request.prompt.size();
       ++i) {
    request.prompt[i] = TokenId{*rc::gen::weightedElement<std::uint32_t>({{9, 1}, {1, 3}})};
  }
  request.max_new_tokens = any(0, 40);
  request.priority = *rc::gen::element(Priority::low, Priority::normal, Priority::high);
  request.prefix_cache = *rc::gen::weightedElement<PrefixCacheUse>(
      {{8, PrefixCacheUse::automatic}, {1, PrefixCacheUse::force}, {1, PrefixCacheUse::disable}});
  if (any(0, 9) == 0) request.deadline_steps = any(1, 12);
  if (any(0, 3) == 0) request.session = SessionId{any(1, 3)};
  return request;
}

/// Random outcome of a step: accepted drafts, eos now and then, rarely an error or no step at all.
StepResult any_result(const StepPlan& plan) {
  StepResult result;
  if (any(0, 39) == 0) {
    fail_step(plan, result);
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

void submit_some(PolicyWorld& world) {
  const std::uint32_t count = any(1, 6);
  for (std::uint32_t i = 0; i < count; ++i) world.submit(any_request(world.scheduler().config()));
}

void step(PolicyWorld& world) {
  const StepPlan& plan = world.schedule();
  switch (any(0, 19)) {
    case 0:
      world.cancel(SeqId{any(1, 40)});
      break;
    case 1:
      world.submit(any_request(world.scheduler().config()));
      break;
    case 2:
      world.release_session(SessionId{any(1, 3)});
      break;
    default:
      break;
  }
  world.commit(any_result(plan));
}

RC_GTEST_PROP(Scheduler, follows_the_plain_policy_and_keeps_every_invariant, ()) {
  PolicyWorld world(any_config());
  const std::uint32_t operations = any(0, 150);
  for (std::uint32_t i = 0; i < operations; ++i) {
    switch (*rc::gen::weightedElement<int>({{12, 0}, {4, 1}, {1, 2}, {1, 3}, {50, 4}})) {
      case 0:
        submit_some(world);
        break;
      case 1:
        world.cancel(SeqId{any(1, 100)});
        break;
      case 2:
        world.release_session(SessionId{any(1, 3)});
        break;
      case 3:
        world.clear_prefix_cache();
        break;
      default:
        step(world);
        break;
    }
  }
  // With no new requests, every sequence ends in a bounded number of steps.
  for (int steps = 0; world.scheduler().has_work(); ++steps) {
    RC_ASSERT(steps < 5000);
    world.commit(any_result(world.schedule()));
  }
  world.check_at_rest();
}

RC_GTEST_PROP(Scheduler, same_events_give_the_same_plans_and_a_copy_goes_its_own_way, ()) {
  const SchedulerConfig config = any_config();
  Scheduler one(config);
  Scheduler other(config);
  const std::uint32_t steps = any(0, 40);
  for (std::uint32_t i = 0; i < steps; ++i) {
    const Request request = any_request(config);
    RC_ASSERT(one.submit(request).has_value() == other.submit(request).has_value());
    const Scheduler copy = one;
    const StepPlan& plan = one.schedule();
    RC_ASSERT(plan == other.schedule());
    RC_ASSERT(digest(plan) == digest(other.plan()));
    const StepResult result = any_result(plan);
    one.commit(plan, result);
    other = copy;
    RC_ASSERT(other.schedule() == plan);
    other.commit(other.plan(), result);
    RC_ASSERT(one.state_digest() == other.state_digest());
  }
}

/// Nobody is passed by more of the later ones than wait_queue.h says, counted from the plans alone.
RC_GTEST_PROP(Scheduler, overtakes_nobody_more_often_than_the_head_start_allows, ()) {
  SchedulerConfig config = any_config();
  config.num_blocks = any(8, 20);
  Scheduler scheduler(config);
  struct Waiting {
    Priority priority = Priority::normal;
    bool waits = true;
    std::uint64_t overtaken = 0;
  };
  std::map<SeqId, Waiting> all;
  const std::uint32_t steps = any(0, 120);
  for (std::uint32_t i = 0; i < steps || scheduler.has_work(); ++i) {
    RC_ASSERT(i < 6000U);
    if (i < steps) {
      const Request request = any_request(config);
      if (const auto seq = scheduler.submit(request)) all[*seq] = {request.priority};
    }
    const StepPlan& plan = scheduler.schedule();
    for (const Finish& finish : plan.finished) all.erase(finish.seq);
    for (const Preemption& preemption : plan.preempted) all[preemption.seq].waits = true;
    for (const Admission& admission : plan.resumed) all[admission.seq].waits = false;
    for (const Admission& admission : plan.admitted) {
      for (auto& [seq, other] : all) {
        if (seq >= admission.seq || !other.waits) continue;
        const auto levels =
            static_cast<std::uint64_t>(Priority::high) - static_cast<std::uint64_t>(other.priority);
        RC_ASSERT(++other.overtaken <
                  std::max<std::uint64_t>(levels * config.priority_head_start, 1));
      }
      all[admission.seq].waits = false;
    }
    const StepResult result = any_result(plan);
    scheduler.commit(plan, result);
  }
}

}  // namespace
}  // namespace forge
