// Stateful tests of Scheduler: random events and outcomes, every invariant after every operation, a
// target that knows only the plans; and, by itself, that the policy is the one of ModelScheduler.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "forge/core/policy.h"
#include "policy_world.h"
#include "random_events.h"

namespace forge {
namespace {

using testing::Against;
using testing::any;
using testing::any_config;
using testing::any_request;
using testing::any_result;
using testing::PolicyWorld;

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

void run_random_events(Against against) {
  PolicyWorld world(any_config(), against);
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

RC_GTEST_PROP(Scheduler, keeps_every_invariant_and_everybody_comes_to_an_end, ()) {
  run_random_events(Against::promises);
}

RC_GTEST_PROP(PolicyAsWritten, is_the_plain_transcription_of_the_headers, ()) {
  run_random_events(Against::transcription);
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

bool same_user(const Request& a, const Request& b) {
  return a.client == b.client && a.user == b.user;
}

/// Nobody is passed by more later ones of the same user than overtakers_max says, counted from the
/// plans alone.
RC_GTEST_PROP(Scheduler, overtakes_nobody_more_often_than_the_head_start_allows, ()) {
  SchedulerConfig config = any_config();
  config.cache.num_blocks = any(8, 20);
  Scheduler scheduler(config);
  struct Waiting {
    Request request;
    bool waits = true;
    std::uint64_t overtaken = 0;
  };
  std::map<SeqId, Waiting> all;
  const std::uint32_t steps = any(0, 120);
  for (std::uint32_t i = 0; i < steps || scheduler.has_work(); ++i) {
    RC_ASSERT(i < 6000U);
    if (i < steps) {
      const Request request = any_request(config);
      if (const auto seq = scheduler.submit(request)) all[*seq] = {request};
    }
    const StepPlan& plan = scheduler.schedule();
    for (const Finish& finish : plan.finished) all.erase(finish.seq);
    for (const Preemption& preemption : plan.preempted) all[preemption.seq].waits = true;
    for (const Admission& admission : plan.resumed) all[admission.seq].waits = false;
    for (const Admission& admission : plan.admitted) {
      const Request request = all[admission.seq].request;
      for (auto& [seq, other] : all) {
        if (seq >= admission.seq || !other.waits || !same_user(other.request, request)) continue;
        RC_ASSERT(++other.overtaken <= overtakers_max(other.request.priority, config));
      }
      all[admission.seq].waits = false;
    }
    const StepResult result = any_result(plan);
    scheduler.commit(plan, result);
    for (auto& [seq, other] : all) other.waits = other.waits || result.kv_lost;
  }
}

}  // namespace
}  // namespace forge
