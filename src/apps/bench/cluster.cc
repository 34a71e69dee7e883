#include "cluster.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "forge/core/digest.h"
#include "forge/kv_events/cache_feed.h"
#include "null_executor.h"

namespace forge::apps {
namespace {

/// A request on its way: its place in the workload, and how it was sent.
struct Sent {
  std::size_t index = 0;
  Route route;
};

/// One that has come while a step ran.
struct Waiting {
  Sent sent;
  Request request;
};

/// One scheduler, and the step that it is in.
struct Replica {
  explicit Replica(const SchedulerConfig& config) : scheduler(config), executor(0), feed(config) {}

  Scheduler scheduler;
  NullExecutor executor;
  kv_events::CacheFeed feed;
  RunDigest digest;
  std::vector<Waiting> inbox;
  std::unordered_map<std::uint64_t, Sent> served;  // by sequence
  const StepPlan* plan = nullptr;                  // of the step under way
  StepResult answer;
  double step_ends_us = 0;
  std::uint64_t tokens_run = 0;
};

void add(const PrefixCacheStatistics& more, PrefixCacheStatistics& sum) {
  sum.queries += more.queries;
  sum.hits += more.hits;
  sum.query_tokens += more.query_tokens;
  sum.hit_tokens += more.hit_tokens;
  sum.recovered_tokens += more.recovered_tokens;
  sum.evictions += more.evictions;
}

class ReplicasInTime {
 public:
  explicit ReplicasInTime(const ClusterRun& run)
      : run_(run),
        router_(run.rule, run.config, run.replicas),
        arrivals_(run.workload, run.clock),
        latencies_(run.workload.size()) {
    replicas_.reserve(run.replicas);
    for (std::size_t i = 0; i < run.replicas; ++i) replicas_.emplace_back(run.config);
    result_.rule = run.rule;
  }

  ClusterResult go() {
    while (const auto moment = next_moment()) {
      arrivals_.wait_until(*moment);
      for (std::size_t i = 0; i < replicas_.size(); ++i) {
        if (replicas_[i].plan != nullptr && replicas_[i].step_ends_us <= *moment) end_step(i);
      }
      while (const auto index = arrivals_.take()) send(*index);
      for (Replica& replica : replicas_) begin_step(replica);
      if (run_.progress && !run_.progress(result_.finished + result_.refused)) {
        result_.interrupted = true;
        break;
      }
    }
    return finish();
  }

 private:
  /// When the next request arrives or the next step ends; nothing if neither will.
  std::optional<double> next_moment() const {
    double next = std::numeric_limits<double>::infinity();
    if (const auto arrival = arrivals_.next_us()) next = *arrival;
    for (const Replica& replica : replicas_) {
      if (replica.plan != nullptr) next = std::min(next, replica.step_ends_us);
    }
    return next < std::numeric_limits<double>::infinity() ? std::optional(next) : std::nullopt;
  }

  void send(std::size_t index) {
    Request request = make_request(run_.workload[index], index);
    latencies_.arrive(index, static_cast<double>(run_.workload[index].arrival_us));
    const Route route = router_.send(request);
    replicas_[route.replica].inbox.push_back({{index, route}, std::move(request)});
  }

  void begin_step(Replica& replica) {
    if (replica.plan != nullptr) return;
    for (const Waiting& waiting : std::exchange(replica.inbox, {})) submit(replica, waiting);
    if (!replica.scheduler.has_work()) return;
    const StepPlan& plan = replica.scheduler.schedule();
    static_cast<void>(replica.executor.execute(plan, replica.answer));  // never fails
    replica.plan = &plan;
    replica.step_ends_us = arrivals_.now_us() + run_.clock.us_of(plan);
  }

  void submit(Replica& replica, const Waiting& waiting) {
    const auto seq = replica.scheduler.submit(waiting.request);
    if (seq) {
      replica.served.emplace(seq->value, waiting.sent);
      return;
    }
    ++result_.refused;
    router_.end(waiting.sent.route);
  }

  void end_step(std::size_t number) {
    Replica& replica = replicas_[number];
    const StepPlan& plan = *std::exchange(replica.plan, nullptr);
    Scheduler& scheduler = replica.scheduler;
    scheduler.commit(plan, replica.answer);
    replica.digest.add(plan, replica.answer);
    if (const PrefixIndex* const index = scheduler.cache().index(); index != nullptr) {
      const double seconds = replica.step_ends_us / 1e6;
      router_.follow(number, replica.feed.follow(scheduler.cache_delta(), *index, seconds));
    }
    for (const SliceResult& slice : replica.answer.slices) {
      const std::size_t count = replica.answer.tokens_of(slice).size();
      if (count == 0) continue;
      latencies_.take(replica.served.at(slice.seq.value).index, count, replica.step_ends_us);
      result_.generated_tokens += count;
    }
    for (const Finish& ended : plan.finished) {
      const auto found = replica.served.find(ended.seq.value);
      router_.end(found->second.route);
      replica.served.erase(found);
      ++result_.finished;
    }
    for (const Slice& slice : plan.slices) replica.tokens_run += slice.count;
    result_.preemptions += plan.preempted.size();
  }

  ClusterResult finish() {
    result_.virtual_seconds = arrivals_.now_us() / 1e6;
    result_.ttft_us = latencies_.time_to_first_token();
    result_.itl_us = latencies_.inter_token_latency();
    Digest digest;
    for (const Replica& replica : replicas_) {
      digest.add(replica.digest.value());
      result_.tokens_run.push_back(replica.tokens_run);
      add(replica.scheduler.prefix_cache_statistics(), result_.prefix_cache);
    }
    result_.digest = replicas_.size() == 1 ? replicas_.front().digest.value() : digest.value();
    return std::move(result_);
  }

  const ClusterRun& run_;
  Router router_;
  std::vector<Replica> replicas_;
  Arrivals arrivals_;
  LatencyLog latencies_;
  ClusterResult result_;
};

}  // namespace

double ClusterResult::prefix_hit_rate() const {
  if (prefix_cache.query_tokens == 0) return 0;
  return static_cast<double>(prefix_cache.hit_tokens) /
         static_cast<double>(prefix_cache.query_tokens);
}

double ClusterResult::imbalance() const {
  const auto sum = std::accumulate(tokens_run.begin(), tokens_run.end(), std::uint64_t{0});
  if (sum == 0) return 1;
  return static_cast<double>(std::ranges::max(tokens_run)) *
         static_cast<double>(tokens_run.size()) / static_cast<double>(sum);
}

ClusterResult run_cluster(const ClusterRun& run) { return ReplicasInTime(run).go(); }

}  // namespace forge::apps
