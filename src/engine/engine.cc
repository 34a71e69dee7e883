#include "forge/engine/engine.h"

#include <utility>

#include "forge/trace/trace_writer.h"

namespace forge::engine {

Engine::Engine(const SchedulerConfig& config, Executor& executor, trace::TraceWriter* trace,
               OnTargetLost on_target_lost)
    : scheduler_(config), executor_(executor), trace_(trace), on_target_lost_(on_target_lost) {}

tl::expected<SeqId, SubmitError> Engine::submit(const Request& request, std::string_view trace_id) {
  if (auto taken = would_take(request); !taken) return tl::unexpected(std::move(taken.error()));
  auto seq = scheduler_.submit(request);
  if (!seq) return seq;
  executor_.begin(*seq, request);
  if (trace_ != nullptr) trace_->submit(*seq, request, trace_id);
  return seq;
}

tl::expected<void, SubmitError> Engine::would_take(const Request& request) const {
  if (auto valid = validate(request, scheduler_.config()); !valid) return valid;
  if (auto refusal = executor_.refuses(request)) {
    return tl::unexpected<SubmitError>(TargetRefuses{*std::move(refusal)});
  }
  return {};
}

tl::expected<void, UnknownSequence> Engine::cancel(SeqId seq, FinishReason reason) {
  const auto cancelled = scheduler_.cancel(seq, reason);
  if (cancelled && trace_ != nullptr) trace_->cancel(seq, reason);
  return cancelled;
}

tl::expected<void, UnknownSession> Engine::release_session(SessionId session) {
  const auto released = scheduler_.release_session(session);
  if (released && trace_ != nullptr) trace_->release_session(session);
  return released;
}

void Engine::clear_prefix_cache() {
  scheduler_.clear_prefix_cache();
  if (trace_ != nullptr) trace_->clear_prefix_cache();
}

Engine::Step Engine::step(const std::function<void()>& meanwhile) {
  using Clock = std::chrono::steady_clock;
  times_.begun = Clock::now();
  const StepPlan& plan = scheduler_.schedule();
  times_.planned = Clock::now();
  executor_.start(plan);
  if (meanwhile) meanwhile();
  if (const auto done = executor_.execute(plan, result_); !done) {
    take_failure(plan, done.error());
  } else if (!plan.slices.empty()) {
    reopens_in_a_row_ = 0;
  }
  times_.executed = Clock::now();
  scheduler_.commit(plan, result_);
  if (trace_ != nullptr) {
    trace_->step(plan, result_, scheduler_.cache_delta());
    if (trace_->wants_snapshot()) trace_->go_on(scheduler_.snapshot());
  }
  times_.ended = Clock::now();
  return {plan, result_};
}

void Engine::take_failure(const StepPlan& plan, const ExecutionError& error) {
  if (target_lost_) return fail_step(plan, result_);
  last_error_ = error.message;
  if (error.target_lost && reopen()) return lose_step(plan, result_);
  target_lost_ = error.target_lost;
  fail_step(plan, result_);
}

/// False if the target stays lost; last_error() then says why.
bool Engine::reopen() {
  if (on_target_lost_ == OnTargetLost::exit) return false;
  if (reopens_in_a_row_ == kReopensInARow) {
    last_error_ +=
        ", after it was opened again " + std::to_string(kReopensInARow) + " times in a row";
    return false;
  }
  if (const auto opened = executor_.reopen(); !opened) {
    last_error_ += ", and it cannot be opened again: " + opened.error();
    return false;
  }
  ++reopens_;
  ++reopens_in_a_row_;
  return true;
}

void Engine::flush_trace() {
  if (trace_ != nullptr) static_cast<void>(trace_->flush());  // trace_status() says how it went
}

std::optional<TraceStatus> Engine::trace_status() const {
  if (trace_ == nullptr) return std::nullopt;
  return TraceStatus{trace_->steps_flushed(), trace_->failure()};
}

}  // namespace forge::engine
