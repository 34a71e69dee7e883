#include "bench_run.h"

#include <chrono>
#include <unordered_map>
#include <utility>

#include "forge/core/digest.h"
#include "forge/engine/engine.h"
#include "forge/runtime/target.h"
#include "forge/runtime/target_header.h"
#include "forge/trace/trace_header.h"
#include "step_recorder.h"

namespace forge::apps {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

class Run {
 public:
  Run(BenchMode mode, const BenchRun& run, runtime::Target& target)
      : run_(run),
        target_(target),
        trace_(make_trace(run, target)),
        engine_(run.options.scheduler, target.executor(), trace_ ? &*trace_ : nullptr),
        arrivals_(run.workload, run.clock),
        digests_(run.workload.size()),
        wall_(run.workload.size()),
        on_device_(run.workload.size()) {
    result_.mode = mode;
    result_.token_digests.resize(run.workload.size());
    if (run.step_times != nullptr) recorder_.emplace(*run.step_times);
  }

  ModeResult go() {
    before_ = target_.estimate();
    if (before_) device_us_ = before_->us;
    start_ = Clock::now();
    while (!arrivals_.done() || engine_.has_work()) {
      if (!engine_.has_work()) arrivals_.wait();
      submit_arrivals();
      if (!engine_.has_work()) continue;
      step();
      if (engine_.target_lost()) break;
      if (run_.progress && !run_.progress(result_.finished + result_.refused)) {
        result_.interrupted = true;
        break;
      }
    }
    result_.seconds = wall_us() / 1e6;
    finish();
    return std::move(result_);
  }

 private:
  static std::optional<trace::TraceWriter> make_trace(const BenchRun& run,
                                                      const runtime::Target& target) {
    std::optional<trace::TraceWriter> trace;
    if (run.trace != nullptr) {
      trace.emplace(*run.trace,
                    runtime::to_trace_header(run.options, target.record(), target.device_name()));
    }
    return trace;
  }

  double wall_us() const { return microseconds(Clock::now() - start_); }

  void submit_arrivals() {
    while (const auto index = arrivals_.take()) {
      const WorkloadItem& item = run_.workload[*index];
      const auto seq = engine_.submit(make_request(item, *index));
      if (!seq) {
        ++result_.refused;
        continue;
      }
      index_of_.emplace(seq->value, *index);
      on_device_.arrive(*index, static_cast<double>(item.arrival_us));
      if (recorder_) recorder_->arrive(*index);
      result_.prompt_tokens += item.prompt_tokens;
    }
  }

  void step() {
    const auto [plan, result] = engine_.step();
    const double now_us = wall_us();
    ++result_.steps;
    result_.preemptions += plan.preempted.size();
    if (!trace_) digest_.add(plan, result);
    pass(plan);
    for (const Finish& finish : plan.finished) retire(finish.seq);
    for (const SliceResult& slice : result.slices) take(slice.seq, result.tokens_of(slice), now_us);
  }

  /// The time of the step passes on the virtual clock.
  void pass(const StepPlan& plan) {
    const std::optional<gpu::Estimate> now = target_.estimate();
    if (!now) {
      if (recorder_) record_wall_time(plan);
      return arrivals_.run(plan);
    }
    const double step_us = now->us - std::exchange(device_us_, now->us);
    if (recorder_) recorder_->step(plan, step_us, 0);
    arrivals_.pass(step_us);
    if (!plan.slices.empty()) step_us_.push_back(static_cast<float>(step_us));
  }

  void record_wall_time(const StepPlan& plan) {
    const engine::StepTimes& times = engine_.step_times();
    const double execute_us = microseconds(times.executed - times.planned);
    recorder_->step(plan, execute_us, microseconds(times.ended - times.begun) - execute_us);
  }

  void retire(SeqId seq) {
    const auto found = index_of_.find(seq.value);
    result_.token_digests[found->second] = digests_[found->second].value();
    index_of_.erase(found);
    ++result_.finished;
  }

  void take(SeqId seq, std::span<const TokenId> tokens, double now_us) {
    if (tokens.empty()) return;
    const std::size_t index = index_of_.at(seq.value);
    for (const TokenId token : tokens) digests_[index].add(token);
    result_.generated_tokens += tokens.size();
    wall_.take(index, tokens.size(), now_us);
    on_device_.take(index, tokens.size(), arrivals_.now_us());
    if (recorder_) recorder_->take(index, tokens.size());
  }

  void finish() {
    result_.virtual_seconds = arrivals_.now_us() / 1e6;
    result_.itl_us = wall_.inter_token_latency();
    if (before_) result_.predicted = prediction(*before_, *target_.estimate());
    const SpeculationStatistics& speculation = target_.executor().speculation();
    result_.draft_source = name_of(run_.options.executor.draft_source);
    result_.drafts = {speculation.proposed, speculation.accepted};
    result_.prefix_cache = engine_.scheduler().prefix_cache_statistics();
    result_.library = target_.library();
    result_.last_error = engine_.last_error();
    result_.digest = trace_ ? trace_->digest() : digest_.value();
    result_.trace_failed = trace_ && !trace_->flush();
  }

  Prediction prediction(const gpu::Estimate& before, gpu::Estimate now) {
    for (std::size_t i = 0; i < now.kernels.size(); ++i) {
      now.kernels[i].launches -= before.kernels[i].launches;
      now.kernels[i].us -= before.kernels[i].us;
    }
    return {.device = target_.device_name(),
            .calibrated = now.calibrated,
            .step_us = percentiles(step_us_),
            .ttft_us = on_device_.time_to_first_token(),
            .itl_us = on_device_.inter_token_latency(),
            .tpot_us = on_device_.time_per_output_token(),
            .busy_us = now.us - before.us,
            .kernels = std::move(now.kernels)};
  }

  const BenchRun& run_;
  runtime::Target& target_;
  std::optional<trace::TraceWriter> trace_;
  std::optional<StepRecorder> recorder_;
  engine::Engine engine_;
  Arrivals arrivals_;
  Clock::time_point start_;
  std::optional<gpu::Estimate> before_;  // of a simulated device
  double device_us_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> index_of_;
  std::vector<Digest> digests_;  // of the tokens of each request
  LatencyLog wall_;
  LatencyLog on_device_;
  std::vector<float> step_us_;
  RunDigest digest_;
  ModeResult result_;
};

}  // namespace

runtime::TargetOptions options_of_mode(runtime::TargetOptions options, BenchMode mode) {
  if (mode == BenchMode::sequential) options.scheduler.batch.max_batch_size = 1;
  if (mode != BenchMode::speculative) {
    options.executor.drafts = 0;
    options.scheduler.draft_lengths = DraftLengths::fixed;
    options.scheduler.draft_break_even = SchedulerConfig().draft_break_even;
  }
  return options;
}

tl::expected<ModeResult, std::string> run_mode(BenchMode mode, const runtime::LoadedModel& model,
                                               const BenchRun& run) {
  auto target = runtime::Target::open(run.options, model);
  if (!target) return tl::unexpected(std::move(target.error()));
  if (run.step_times != nullptr) {
    run.step_times->target = recorded_target(run.options, model, *target);
    run.step_times->workload = recorded_workload(name_of(mode), run.options, run.workload.size());
  }
  return Run(mode, run, *target).go();
}

}  // namespace forge::apps
