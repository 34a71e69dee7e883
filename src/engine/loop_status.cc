// What an EngineLoop tells of itself: it is counted on the loop thread and published under the
// lock.
#include <algorithm>

#include "forge/core/must.h"
#include "forge/engine/engine_loop.h"

namespace forge::engine {

void EngineLoop::count(const Engine::Step& step) {
  bool alarm_changed = false;
  for (std::size_t i = 0; i < step.result.slices.size() && !step.result.kv_lost; ++i) {
    alarm_changed |= drafts_.add(step.plan.slices[i].drafts, step.result.slices[i].token_count);
  }
  if (alarm_changed && options_.on_draft_alarm) options_.on_draft_alarm(drafts_.alarm());
  metrics_.add_step(step.plan, step.result, engine_.step_times());
  count_overtakers(step.plan);
  const std::lock_guard lock(mutex_);
  status_.drafts = drafts_.counts();
  status_.draft_alarm = drafts_.alarm();
  ++status_.steps;
  status_.generated_tokens += step.result.tokens.size();
  status_.preemptions += step.plan.preempted.size();
  for (const Preemption& preemption : step.plan.preempted) {
    status_.swaps += preemption.mode == PreemptionMode::swap ? 1 : 0;
  }
  const auto failed = [](const SliceResult& slice) { return slice.signal == FinishSignal::error; };
  if (step.result.slices.empty()) return;
  status_.stalled_steps =
      std::ranges::all_of(step.result.slices, failed) ? status_.stalled_steps + 1 : 0;
}

void EngineLoop::count_overtakers(const StepPlan& plan) {
  for (const auto* admissions : {&plan.admitted, &plan.resumed}) {
    for (const Admission& admission : *admissions) {
      const std::uint32_t overtaken = must(engine_.scheduler().view(admission.seq)).overtaken;
      metrics_.overtaken_max = std::max(metrics_.overtaken_max, overtaken);
    }
  }
}

void EngineLoop::publish_status() {
  const Scheduler& scheduler = engine_.scheduler();
  const PagedKVCache& cache = scheduler.cache();
  const std::lock_guard lock(mutex_);
  status_.waiting = scheduler.waiting_count() + submissions_pending_;
  status_.running = scheduler.running_count();
  status_.swapped = scheduler.host().sequence_count();
  status_.free_blocks = cache.pool().free_count();
  status_.evictable_blocks = cache.available_count() - cache.pool().free_count();
  status_.free_host_blocks = scheduler.host().pool().free_count();
  status_.prefix_cache = scheduler.prefix_cache_statistics();
  status_.sessions = scheduler.sessions().all().size();
  status_.reopens = engine_.reopens();
  if (engine_.target_lost()) status_.target_lost = engine_.last_error();
  status_.trace = engine_.trace_status();
}

}  // namespace forge::engine
