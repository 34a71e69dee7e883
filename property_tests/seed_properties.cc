// Five properties of any continuous-batching scheduler, each by itself, over random events, from
// what the scheduler shows to everybody: its plans, its ids, its blocks. check_invariants has no
// part in them. Each is shown to notice a mistake of its kind (changes/*.exhibit).
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <set>

#include "forge/core/scheduler.h"
#include "random_events.h"

namespace forge {
namespace {

using testing::any;
using testing::any_config;
using testing::any_request;
using testing::any_result;

/// Who looks at a run: at each id that is handed out, at each plan before it is executed, and when
/// all KV is lost thereby.
struct Witness {
  std::function<void(SeqId)> submitted = [](SeqId) {};
  std::function<void(const StepPlan&)> planned;
  std::function<void()> lost = [] {};
};

/// Requests come in, some are cancelled, steps end in one way or another, until nothing is left.
void run_random_events(Scheduler& scheduler, const Witness& witness) {
  const std::uint32_t steps_with_requests = any(0, 100);
  for (std::uint32_t i = 0; i < steps_with_requests || scheduler.has_work(); ++i) {
    RC_ASSERT(i < 6000U);
    for (std::uint32_t n = i < steps_with_requests ? any(0, 3) : 0; n > 0; --n) {
      if (const auto seq = scheduler.submit(any_request(scheduler.config()))) {
        witness.submitted(*seq);
      }
    }
    const StepPlan& plan = scheduler.schedule();
    witness.planned(plan);
    if (any(0, 9) == 0) static_cast<void>(scheduler.cancel(SeqId{any(1, 100)}));
    const StepResult result = any_result(plan);
    scheduler.commit(plan, result);
    if (result.kv_lost) witness.lost();
  }
}

// 1. No id is handed out twice, and plans name only ids that were, until they are retired.
RC_GTEST_PROP(SeedProperties, UniqueRequestIds, ()) {
  Scheduler scheduler(any_config());
  std::set<SeqId> all;
  std::set<SeqId> unfinished;
  const auto submitted = [&](SeqId seq) {
    RC_ASSERT(all.insert(seq).second);
    unfinished.insert(seq);
  };
  const auto planned = [&](const StepPlan& plan) {
    for (const Finish& finish : plan.finished) RC_ASSERT(unfinished.erase(finish.seq) == 1U);
    std::set<SeqId> once;
    for (const Slice& slice : plan.slices) {
      RC_ASSERT(unfinished.contains(slice.seq));
      RC_ASSERT(once.insert(slice.seq).second);
    }
  };
  run_random_events(scheduler, {.submitted = submitted, .planned = planned});
  RC_ASSERT(unfinished.empty());
}

// 2. A step has at most max_batch_size sequences and max_batch_tokens tokens, and of one prompt at
// most prefill_chunk_size.
RC_GTEST_PROP(SeedProperties, BatchLimits, ()) {
  const SchedulerConfig config = any_config();
  Scheduler scheduler(config);
  const auto planned = [&](const StepPlan& plan) {
    std::uint64_t tokens = 0;
    for (const Slice& slice : plan.slices) tokens += slice.count;
    for (const Slice& slice : plan.prefill_batch()) {
      RC_ASSERT(slice.count <= config.prefill_chunk_size);
    }
    RC_ASSERT(tokens <= config.batch.max_batch_tokens);
    RC_ASSERT(plan.slices.size() <= config.batch.max_batch_size);
    RC_ASSERT(scheduler.running_count() <= config.batch.max_batch_size);
  };
  run_random_events(scheduler, {.planned = planned});
}

// 3. Whoever has sampled, and has neither been preempted nor lost its KV since, decodes in each
// step, and before any prompt.
RC_GTEST_PROP(SeedProperties, DecodesBeforePrompts, ()) {
  Scheduler scheduler(any_config());
  std::set<SeqId> decoding;
  const auto planned = [&](const StepPlan& plan) {
    for (const Finish& finish : plan.finished) decoding.erase(finish.seq);
    for (const Preemption& preemption : plan.preempted) decoding.erase(preemption.seq);
    std::set<SeqId> first;
    for (const Slice& slice : plan.decode_batch()) first.insert(slice.seq);
    RC_ASSERT(first == decoding);
    for (const Slice& slice : plan.slices) {
      if (slice.samples) decoding.insert(slice.seq);
    }
  };
  run_random_events(scheduler, {.planned = planned, .lost = [&] { decoding.clear(); }});
}

// 4. Each block is in use or free, and never both. In use is what the tables of the running
// sequences name, what is cached and what sessions hold.
RC_GTEST_PROP(SeedProperties, UsedPlusFreeIsTotal, ()) {
  const SchedulerConfig config = any_config();
  Scheduler scheduler(config);
  const auto planned = [&](const StepPlan&) {
    const PagedKVCache& cache = scheduler.cache();
    std::set<BlockId> used;
    for (const SequenceView& view : scheduler.running()) {
      const auto table = cache.block_table(view.seq).value();
      used.insert(table.begin(), table.end());
    }
    for (const auto& [id, session] : scheduler.sessions().all()) {
      used.insert(session.pinned.begin(), session.pinned.end());
    }
    if (cache.index() != nullptr) {
      for (const BlockId block : cache.index()->blocks()) used.insert(block);
    }
    RC_ASSERT(used.size() + cache.pool().free_count() == config.cache.num_blocks);
    for (const BlockId block : cache.pool().free_list()) RC_ASSERT(!used.contains(block));
  };
  run_random_events(scheduler, {.planned = planned});
}

// 5. When memory is short, first drafts go, then somebody leaves the batch; newcomers wait below
// the watermark and in a step that preempts. Nobody is turned away.
RC_GTEST_PROP(SeedProperties, ResponseToMemoryPressure, ()) {
  const SchedulerConfig config = any_config();
  Scheduler scheduler(config);
  std::size_t unfinished = 0;
  const auto planned = [&](const StepPlan& plan) {
    const std::size_t entered = plan.admitted.size() + plan.resumed.size();
    if (!plan.preempted.empty()) {
      RC_ASSERT(entered == 0U);
      for (const Slice& slice : plan.slices) RC_ASSERT(slice.drafts == 0U);
    }
    if (entered > 0 && scheduler.running_count() > 1) {
      RC_ASSERT(scheduler.cache().available_count() >= config.watermark_blocks);
    }
    unfinished -= plan.finished.size();
    RC_ASSERT(scheduler.running_count() + scheduler.waiting_count() == unfinished);
  };
  run_random_events(scheduler, {[&](SeqId) { ++unfinished; }, planned});
}

}  // namespace
}  // namespace forge
