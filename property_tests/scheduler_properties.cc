// Stateful test of Scheduler: random submissions, cancellations and outcomes against
// ModelScheduler, every invariant after every operation, and a target that knows only the deltas.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "forge/core/invariants.h"
#include "forge/core/scheduler.h"
#include "model_scheduler.h"

namespace forge {
namespace {

using testing::ModelScheduler;

/// What a target keeps: tables that follow the deltas of the plans.
class DeltaTables {
 public:
  void apply(const StepPlan& plan) {
    for (const Finish& finish : plan.finished) tables_.erase(finish.seq);
    for (const Preemption& preemption : plan.preempted) tables_.erase(preemption.seq);
    for (const TableDelta& delta : plan.tables) {
      auto& table = tables_[delta.seq];
      RC_ASSERT(delta.truncated_to <= table.size());
      table.resize(delta.truncated_to);
      const auto appended = plan.appended(delta);
      table.insert(table.end(), appended.begin(), appended.end());
    }
    RC_ASSERT(tables_.size() == plan.slices.size());
  }
  void compare(const PagedKVCache& cache) const {
    for (const auto& [seq, table] : tables_) {
      RC_ASSERT(std::ranges::equal(table, *cache.block_table(seq)));
    }
  }

 private:
  std::map<SeqId, std::vector<BlockId>> tables_;
};

/// Random outcome of a step: accepted drafts, eos now and then, rarely an error.
StepResult random_result(const StepPlan& plan) {
  StepResult result;
  result.step = plan.step;
  for (const Slice& slice : plan.slices) {
    SliceResult r{.seq = slice.seq,
                  .first_token = static_cast<std::uint32_t>(result.tokens.size())};
    const int luck = *rc::gen::inRange(0, 20);
    if (luck == 0) {
      r.signal = FinishSignal::error;
    } else {
      r.token_count = *rc::gen::inRange<std::uint32_t>(1, slice.drafts + 2);
      r.drafts = *rc::gen::inRange<std::uint32_t>(0, 5);
      if (luck == 1) r.signal = FinishSignal::eos;
    }
    result.tokens.resize(result.tokens.size() + r.token_count, TokenId{9});
    result.slices.push_back(r);
  }
  return result;
}

void expect_no_violation(const Scheduler& scheduler) {
  const auto violation = check_invariants(scheduler);
  if (violation) RC_FAIL(*violation);
}

struct World {
  Scheduler scheduler;
  ModelScheduler model;
  DeltaTables tables;

  explicit World(const SchedulerConfig& config) : scheduler(config), model(config) {}

  void submit() {
    const Request request{
        .prompt = std::vector<TokenId>(*rc::gen::inRange<std::size_t>(0, 30), TokenId{3}),
        .max_new_tokens = *rc::gen::inRange<std::uint32_t>(0, 20)};
    const auto seq = scheduler.submit(request);
    RC_ASSERT(seq.has_value() == validate(request, scheduler.config()).has_value());
    if (seq) RC_ASSERT(*seq == model.submit(request));
  }

  void cancel(std::uint64_t seq) {
    if (scheduler.cancel(SeqId{seq})) model.finish(SeqId{seq}, FinishReason::cancelled);
  }

  void step(std::uint64_t cancel_in_flight) {
    const StepPlan& plan = scheduler.schedule();
    const ModelScheduler::Plan expected = model.schedule();
    RC_ASSERT(plan.admitted == expected.admitted);
    RC_ASSERT(plan.resumed == expected.resumed);
    RC_ASSERT(plan.finished == expected.finished);
    RC_ASSERT(plan.slices == expected.slices);
    std::vector<SeqId> preempted;
    for (const Preemption& p : plan.preempted) preempted.push_back(p.seq);
    RC_ASSERT(preempted == expected.preempted);
    expect_no_violation(scheduler);
    tables.apply(plan);
    tables.compare(scheduler.cache());
    const StepResult result = random_result(plan);
    cancel(cancel_in_flight);
    scheduler.commit(plan, result);
    model.commit(result);
  }
};

RC_GTEST_PROP(Scheduler, follows_the_plain_policy_and_keeps_every_invariant, ()) {
  World world({.num_blocks = *rc::gen::inRange<std::uint32_t>(1, 40),
               .block_size = *rc::gen::inRange<std::uint32_t>(1, 5),
               .max_batch_size = *rc::gen::inRange<std::uint32_t>(1, 9)});
  const int operations = *rc::gen::inRange(0, 120);
  for (int i = 0; i < operations; ++i) {
    switch (*rc::gen::weightedElement<int>({{4, 0}, {1, 1}, {6, 2}})) {
      case 0:
        world.submit();
        break;
      case 1:
        world.cancel(*rc::gen::inRange<std::uint64_t>(1, 40));
        break;
      default:
        world.step(*rc::gen::inRange<std::uint64_t>(1, 400));
        break;
    }
    expect_no_violation(world.scheduler);
    RC_ASSERT(world.scheduler.has_work() == world.model.has_work());
  }
  // Drain: with no new requests, every sequence ends in a bounded number of steps.
  for (int steps = 0; world.scheduler.has_work(); ++steps) {
    RC_ASSERT(steps < 5000);
    world.step(0);
  }
  expect_no_violation(world.scheduler);
}

RC_GTEST_PROP(Scheduler, same_events_give_the_same_plans, ()) {
  const SchedulerConfig config{.num_blocks = *rc::gen::inRange<std::uint32_t>(1, 40),
                               .block_size = *rc::gen::inRange<std::uint32_t>(1, 5),
                               .max_batch_size = *rc::gen::inRange<std::uint32_t>(1, 9)};
  Scheduler one(config);
  Scheduler other(config);
  const auto lengths = *rc::gen::container<std::vector<std::pair<std::size_t, std::uint32_t>>>(
      rc::gen::pair(rc::gen::inRange<std::size_t>(1, 20), rc::gen::inRange<std::uint32_t>(1, 20)));
  for (const auto& [prompt, max_new] : lengths) {
    const Request request{.prompt = std::vector<TokenId>(prompt, TokenId{1}),
                          .max_new_tokens = max_new};
    RC_ASSERT(one.submit(request).has_value() == other.submit(request).has_value());
    const StepPlan& plan = one.schedule();
    RC_ASSERT(plan == other.schedule());
    RC_ASSERT(digest(plan) == digest(other.plan()));
    const StepResult result = random_result(plan);
    one.commit(plan, result);
    other.commit(other.plan(), result);
  }
}

}  // namespace
}  // namespace forge
