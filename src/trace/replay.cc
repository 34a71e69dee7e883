#include "forge/trace/replay.h"

#include "forge/core/scheduler.h"
#include "forge/trace/restore_target.h"
#include "forge/trace/trace_json.h"
#include "forge/trace/trace_state.h"

namespace forge::trace {
namespace {

Difference prefixed(std::string_view prefix, Difference difference) {
  difference.field = std::string(prefix) + "." + difference.field;
  return difference;
}

class Replay {
 public:
  /// Without an executor the recorded results are committed, if they answer the plans.
  Replay(TraceReader& trace, Executor* executor, std::uint32_t vocabulary_size)
      : trace_(trace),
        executor_(executor),
        vocabulary_size_(vocabulary_size),
        scheduler_(trace.header().scheduler),
        state_(trace.header().scheduler) {}

  tl::expected<ReplayReport, TraceError> run() {
    while (!report_.difference) {
      auto event = trace_.next();
      if (!event) return tl::unexpected(event.error());
      if (!*event) break;
      if (executor_ == nullptr) {
        const auto applied = state_.apply(**event);
        if (!applied) return tl::unexpected(trace_.error_here(applied.error()));
      }
      const auto done = std::visit([&](const auto& e) { return follow(e); }, **event);
      if (!done) return tl::unexpected(done.error());
    }
    return report_;
  }

 private:
  using Followed = tl::expected<void, TraceError>;

  Followed check_tokens(const std::string& name, std::span<const TokenId> tokens) const {
    for (const TokenId token : tokens) {
      if (token.value < vocabulary_size_) continue;
      return tl::unexpected(
          trace_.error_here(name + ": token " + std::to_string(token.value) + " is not in 0.." +
                            std::to_string(vocabulary_size_ - 1) + ", the target's vocabulary"));
    }
    return {};
  }

  Followed follow(const SubmitEvent& event) {
    if (executor_ != nullptr) {
      auto known = check_tokens("submit.request.prompt", event.request.prompt);
      if (!known) return known;
    }
    const std::string expected = std::to_string(event.seq.value);
    if (executor_ != nullptr) {
      if (const auto refusal = executor_->refuses(event.request)) {
        differ({"submit", "taken as sequence " + expected, "refused: " + *refusal});
        return {};
      }
    }
    const auto seq = scheduler_.submit(event.request);
    if (!seq) {
      differ({"submit", "taken as sequence " + expected, "refused: " + to_string(seq.error())});
    } else if (*seq != event.seq) {
      differ({"submit.seq", expected, std::to_string(seq->value)});
    } else if (executor_ != nullptr) {
      executor_->begin(*seq, event.request);
    }
    return {};
  }

  Followed follow(const CancelEvent& event) {
    if (!scheduler_.cancel(event.seq, event.reason)) {
      differ({"cancel.seq", std::to_string(event.seq.value), "no such sequence"});
    }
    return {};
  }

  Followed follow(const ReleaseSessionEvent& event) {
    if (!scheduler_.release_session(event.session)) {
      differ({"release_session.session", std::to_string(event.session.value), "no such session"});
    }
    return {};
  }

  Followed follow(const ClearPrefixCacheEvent&) {
    scheduler_.clear_prefix_cache();
    return {};
  }

  /// Where the trace begins with it, the run goes on from it; within a trace it has to be the
  /// state.
  Followed follow(const SnapshotEvent& event) {
    if (report_.steps > 0) {
      if (auto difference = first_difference(event.scheduler, scheduler_.snapshot())) {
        differ(*std::move(difference));
      } else if (event.link != run_.value()) {
        differ({"link", digest_text(event.link), digest_text(run_.value())});
      }
      return {};
    }
    auto restored = Scheduler::restore(trace_.header().scheduler, event.scheduler);
    if (!restored) return tl::unexpected(trace_.error_here("snapshot: " + restored.error()));
    scheduler_ = *std::move(restored);
    run_ = RunDigest(event.link);
    next_step_ = event.scheduler.next_step;
    if (executor_ == nullptr) return {};
    for (const OpenRequest& open : event.requests) {
      if (auto known = check_tokens("requests", open.submit.request.prompt); !known) return known;
      if (auto known = check_tokens("requests", open.output); !known) return known;
    }
    for (const CachedBlock& cached : event.scheduler.cache.cached) {
      if (auto known = check_tokens("snapshot.cache.cached", cached.tokens); !known) return known;
    }
    const auto done = restore_target(*executor_, scheduler_.config(), event);
    if (!done) return tl::unexpected(trace_.error_here("snapshot: " + done.error()));
    return {};
  }

  Followed follow(const StepEvent& recorded) {
    const StepPlan& plan = scheduler_.schedule();
    next_step_ = plan.step;
    if (auto difference = first_difference(recorded.plan, plan)) {
      differ(prefixed("step", *std::move(difference)));
      return {};
    }
    std::string target_error = answer(recorded.result, plan);
    if (auto difference = first_difference(recorded.result, result_)) {
      differ(prefixed("result", *std::move(difference)), std::move(target_error));
      return {};
    }
    scheduler_.commit(plan, result_);
    if (says_what_is_cached(trace_.header())) {
      if (auto difference = first_difference(recorded.cache, scheduler_.cache_delta())) {
        differ(prefixed("cache", *std::move(difference)));
        return {};
      }
    }
    const std::uint64_t link = run_.add(plan, result_);
    if (link != recorded.link) {
      differ({"link", digest_text(recorded.link), digest_text(link)});
      return {};
    }
    ++report_.steps;
    report_.digest = link;
    next_step_ = StepId{plan.step.value + 1};
    return {};
  }

  /// Writes the answer to the plan over result_. Returns: what the target said if it failed.
  std::string answer(const StepResult& recorded, const StepPlan& plan) {
    if (executor_ == nullptr) {
      result_ = recorded;
      result_.step = plan.step;
      return "";
    }
    const auto done = recorded.kv_lost ? executor_->execute(bookkeeping_of(plan), result_)
                                       : executor_->execute(plan, result_);
    if (!done) {
      fail_step(plan, result_);
      return done.error().message;
    }
    if (!recorded.kv_lost) return "";
    if (const auto opened = executor_->reopen(); !opened) {
      fail_step(plan, result_);
      return opened.error();
    }
    lose_step(plan, result_);
    return "";
  }

  void differ(Difference difference, std::string target_error = "") {
    report_.difference = {next_step_, trace_.line(), std::move(difference),
                          std::move(target_error)};
  }

  TraceReader& trace_;
  Executor* executor_;
  std::uint32_t vocabulary_size_;
  Scheduler scheduler_;
  TraceState state_;  // without an executor: says whether results answer their plans
  StepResult result_;
  RunDigest run_;
  StepId next_step_;
  ReplayReport report_;
};

}  // namespace

tl::expected<ReplayReport, TraceError> replay(TraceReader& trace, Executor& executor,
                                              std::uint32_t vocabulary_size) {
  return Replay(trace, &executor, vocabulary_size).run();
}

tl::expected<ReplayReport, TraceError> replay_plans(TraceReader& trace) {
  return Replay(trace, nullptr, 0).run();
}

}  // namespace forge::trace
