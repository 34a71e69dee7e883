#include "policy_run.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>

#include "forge/runtime/target_header.h"
#include "forge/trace/trace_header.h"
#include "null_executor.h"

namespace forge::apps {
namespace {

using Clock = std::chrono::steady_clock;

double nanoseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::nano>(duration).count();
}

/// CPU time of this thread.
double cpu_seconds() {
  std::timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// What one reading of the clock costs: the smallest mean of some rounds, because interruptions
/// only ever add.
double clock_read_ns() {
  constexpr int kReads = 1000;
  double smallest = 1e9;
  for (int round = 0; round < 50; ++round) {
    const auto start = Clock::now();
    auto last = start;
    for (int i = 0; i < kReads; ++i) last = Clock::now();
    smallest = std::min(smallest, nanoseconds(last - start) / kReads);
  }
  return smallest;
}

class PolicyRun {
 public:
  explicit PolicyRun(const BenchRun& run)
      : run_(run),
        scheduler_(run.options.scheduler),
        executor_(run.options.executor.drafts),
        arrivals_(run.workload, run.clock) {
    if (run.trace != nullptr) trace_.emplace(*run.trace, runtime::to_trace_header(run.options));
  }

  PolicyResult go() {
    result_.clock_read_ns = clock_read_ns();
    const double cpu_start = cpu_seconds();
    const auto start = Clock::now();
    while (!arrivals_.done() || scheduler_.has_work()) {
      if (!scheduler_.has_work()) arrivals_.wait();
      submit_arrivals();
      if (!scheduler_.has_work()) continue;
      step();
      if (run_.progress && !run_.progress(result_.finished + result_.refused)) {
        result_.interrupted = true;
        break;
      }
    }
    result_.seconds = nanoseconds(Clock::now() - start) / 1e9;
    result_.cpu_seconds = cpu_seconds() - cpu_start;
    finish();
    return result_;
  }

 private:
  void submit_arrivals() {
    while (const auto index = arrivals_.take()) {
      const Request request = make_request(run_.workload[*index], *index);
      const auto seq = scheduler_.submit(request);
      if (!seq) {
        ++result_.refused;
        continue;
      }
      executor_.begin(*seq, request);
      if (trace_) trace_->submit(*seq, request);
      result_.prompt_tokens += request.prompt.size();
    }
  }

  void step() {
    const auto scheduling = Clock::now();
    const StepPlan& plan = scheduler_.schedule();
    in_policy_ += Clock::now() - scheduling;
    count_admitted(plan.admitted);
    count_admitted(plan.resumed);
    static_cast<void>(executor_.execute(plan, answer_));  // never fails
    const auto committing = Clock::now();
    scheduler_.commit(plan, answer_);
    in_policy_ += Clock::now() - committing;
    if (trace_) {
      trace_->step(plan, answer_, scheduler_.cache_delta());
    } else {
      digest_.add(plan, answer_);
    }
    arrivals_.run(plan);
    count(plan);
  }

  /// Being overtaken ends with an admission.
  void count_admitted(const std::vector<Admission>& admissions) {
    for (const Admission& admission : admissions) {
      const SequenceView view = scheduler_.view(admission.seq).value();
      std::uint32_t& most = result_.overtaken_max[static_cast<std::size_t>(view.priority)];
      most = std::max(most, view.overtaken);
    }
  }

  void count(const StepPlan& plan) {
    ++result_.steps;
    result_.scheduled_sequences += plan.slices.size();
    for (const Slice& slice : plan.slices) result_.scheduled_tokens += slice.count;
    for (const Preemption& preemption : plan.preempted) {
      ++result_.preemptions[static_cast<std::size_t>(preemption.mode)];
    }
    result_.finished += plan.finished.size();
    result_.generated_tokens += answer_.tokens.size();
  }

  void finish() {
    const double calls = 2 * static_cast<double>(result_.steps);
    const double wall = (nanoseconds(in_policy_) - calls * result_.clock_read_ns) / 1e9;
    const double share = std::min(1.0, result_.cpu_seconds / result_.seconds);
    result_.policy_seconds = std::max(0.0, wall) * share;
    result_.virtual_seconds = arrivals_.now_us() / 1e6;
    result_.prefix_cache = scheduler_.prefix_cache_statistics();
    result_.digest = trace_ ? trace_->digest() : digest_.value();
    result_.trace_failed = trace_ && !trace_->flush();
  }

  const BenchRun& run_;
  Scheduler scheduler_;
  NullExecutor executor_;
  std::optional<trace::TraceWriter> trace_;
  Arrivals arrivals_;
  StepResult answer_;
  Clock::duration in_policy_{};
  RunDigest digest_;
  PolicyResult result_;
};

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

double PolicyResult::ns_per_scheduled_sequence() const {
  return ratio(policy_seconds * 1e9, static_cast<double>(scheduled_sequences));
}

double PolicyResult::requests_per_second() const {
  return ratio(static_cast<double>(finished), cpu_seconds);
}

double PolicyResult::prefix_hit_rate() const {
  return ratio(static_cast<double>(prefix_cache.hit_tokens),
               static_cast<double>(prefix_cache.query_tokens));
}

PolicyResult run_policy(const BenchRun& run) { return PolicyRun(run).go(); }

}  // namespace forge::apps
