// With max_batch_size slots and no other limit, the scheduler is a fixed-slot worker.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "forge/core/scheduler.h"
#include "slot_worker.h"

namespace forge {
namespace {

using testing::SlotWorker;

/// What a worker without block tables can know of a plan.
StepPlan without_blocks(StepPlan plan) {
  plan.step = {};
  plan.tables.clear();
  plan.appended_blocks.clear();
  return plan;
}

StepResult one_token_each(const StepPlan& plan, const std::vector<bool>& eos) {
  StepResult result;
  result.step = plan.step;
  result.tokens.assign(plan.slices.size(), TokenId{7});
  for (std::uint32_t i = 0; i < plan.slices.size(); ++i) {
    result.slices.push_back({.seq = plan.slices[i].seq,
                             .first_token = i,
                             .token_count = 1,
                             .signal = eos[i] ? FinishSignal::eos : FinishSignal::none});
  }
  return result;
}

RC_GTEST_PROP(PolicyAsWritten, plans_are_those_of_a_worker_with_fixed_slots, ()) {
  const auto slots = *rc::gen::inRange<std::uint32_t>(1, 9);
  Scheduler scheduler({.cache = {.num_blocks = 100, .block_size = 4},
                       .batch = {.max_batch_size = slots, .max_batch_tokens = 100000},
                       .prefill_chunk_size = 100000,
                       .prefix_cache = PrefixCacheKind::none});
  SlotWorker worker(slots);
  // Requests submitted before each step, by the length of their prompts.
  const auto length = rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(1, 30));
  const auto burst = rc::gen::resize(8, rc::gen::container<std::vector<std::uint32_t>>(length));
  const auto arrivals = *rc::gen::container<std::vector<std::vector<std::uint32_t>>>(burst);
  for (std::size_t step = 0; step < arrivals.size() || scheduler.has_work(); ++step) {
    for (std::size_t i = 0; step < arrivals.size() && i < arrivals[step].size(); ++i) {
      const std::uint32_t prompt = arrivals[step][i];
      const Request request{.prompt = std::vector<TokenId>(prompt, TokenId{1}),
                            .max_new_tokens = 31 - prompt};
      worker.submit(scheduler.submit(request).value(), request);
    }
    const StepPlan& plan = scheduler.schedule();
    RC_ASSERT(without_blocks(plan) == worker.step());
    const auto eos = *rc::gen::container<std::vector<bool>>(
        plan.slices.size(), rc::gen::map(rc::gen::inRange(0, 10), [](int i) { return i == 1; }));
    scheduler.commit(plan, one_token_each(plan, eos));
    worker.finish_step(eos);
  }
}

}  // namespace
}  // namespace forge
