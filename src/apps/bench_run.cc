#include "bench_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "forge/core/digest.h"
#include "forge/engine/engine.h"

namespace forge {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::micro>(to - from).count();
}

/// The q-quantile, nearest rank. Reorders `values`.
double quantile(std::vector<float>& values, double q) {
  if (values.empty()) return 0;
  const auto place = values.begin() + std::lround(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

class Run {
 public:
  Run(BenchMode mode, const BenchRun& run)
      : run_(run),
        executor_(run.options.executor),
        trace_(make_trace(run)),
        engine_(run.options.scheduler, executor_, trace_ ? &*trace_ : nullptr),
        arrivals_(run.workload, run.clock) {
    result_.mode = mode;
    result_.token_digests.resize(run.workload.size());
    outputs_.resize(run.workload.size());
  }

  ModeResult go() {
    const auto start = Clock::now();
    while (!arrivals_.done() || engine_.has_work()) {
      if (!engine_.has_work()) arrivals_.wait();
      submit_arrivals();
      if (!engine_.has_work()) continue;
      step();
      if (run_.progress && !run_.progress(result_.finished + result_.refused)) {
        result_.interrupted = true;
        break;
      }
    }
    result_.seconds = microseconds_between(start, Clock::now()) / 1e6;
    finish();
    return std::move(result_);
  }

 private:
  /// One request under way.
  struct Output {
    Digest digest;
    std::optional<Clock::time_point> last_token;
  };

  static std::optional<TraceWriter> make_trace(const BenchRun& run) {
    std::optional<TraceWriter> trace;
    if (run.trace != nullptr) trace.emplace(*run.trace, to_trace_header(run.options));
    return trace;
  }

  void submit_arrivals() {
    while (const auto index = arrivals_.take()) {
      const WorkloadItem& item = run_.workload[*index];
      const auto seq = engine_.submit(make_request(item, *index));
      if (!seq) {
        ++result_.refused;
        continue;
      }
      index_of_.emplace(seq->value, *index);
      result_.prompt_tokens += item.prompt_tokens;
    }
  }

  void step() {
    const auto [plan, result] = engine_.step();
    const Clock::time_point now = Clock::now();
    ++result_.steps;
    result_.preemptions += plan.preempted.size();
    if (!trace_) digest_.add(plan, result);
    arrivals_.run(plan);
    for (const Finish& finish : plan.finished) retire(finish.seq);
    for (const SliceResult& slice : result.slices) take(slice.seq, result.tokens_of(slice), now);
  }

  void retire(SeqId seq) {
    const auto found = index_of_.find(seq.value);
    result_.token_digests[found->second] = outputs_[found->second].digest.value();
    index_of_.erase(found);
    ++result_.finished;
  }

  void take(SeqId seq, std::span<const TokenId> tokens, Clock::time_point now) {
    Output& output = outputs_[index_of_.at(seq.value)];
    for (const TokenId token : tokens) output.digest.add(token);
    result_.generated_tokens += tokens.size();
    if (tokens.empty()) return;
    if (output.last_token) {
      const double gap =
          microseconds_between(*output.last_token, now) / static_cast<double>(tokens.size());
      gaps_us_.insert(gaps_us_.end(), tokens.size(), static_cast<float>(gap));
    }
    output.last_token = now;
  }

  void finish() {
    result_.virtual_seconds = arrivals_.now_us() / 1e6;
    result_.itl_p50_us = quantile(gaps_us_, 0.50);
    result_.itl_p95_us = quantile(gaps_us_, 0.95);
    result_.drafts_proposed = executor_.speculation().proposed;
    result_.drafts_accepted = executor_.speculation().accepted;
    result_.prefix_cache = engine_.scheduler().prefix_cache_statistics();
    result_.digest = trace_ ? trace_->digest() : digest_.value();
    result_.trace_failed = trace_ && !trace_->flush();
  }

  const BenchRun& run_;
  CpuExecutor executor_;
  std::optional<TraceWriter> trace_;
  Engine engine_;
  Arrivals arrivals_;
  std::unordered_map<std::uint64_t, std::size_t> index_of_;
  std::vector<Output> outputs_;
  std::vector<float> gaps_us_;
  RunDigest digest_;
  ModeResult result_;
};

}  // namespace

TargetOptions options_of_mode(TargetOptions options, BenchMode mode) {
  if (mode == BenchMode::sequential) options.scheduler.max_batch_size = 1;
  if (mode != BenchMode::speculative) options.executor.drafts = 0;
  return options;
}

ModeResult run_mode(BenchMode mode, const BenchRun& run) { return Run(mode, run).go(); }

}  // namespace forge
