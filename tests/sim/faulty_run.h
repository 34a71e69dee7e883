// A run of requests through Engine, GpuExecutor and SimDevice, some of whose calls fail.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "executor/seeded_gpu_model.h"
#include "forge/core/invariants.h"
#include "forge/engine/engine.h"
#include "forge/gpu/gpu_executor.h"
#include "forge/sim/sim_device.h"
#include "sim/plan_events.h"

namespace forge::testing {

// How kernels run. Checked, a step that went wrong is an error and never a crash of the test.
#ifdef FORGE_FAULTS_CHECKED
inline constexpr sim::SimMode kFaultyRunMode = sim::SimMode::checked;
#else
inline constexpr sim::SimMode kFaultyRunMode = sim::SimMode::plain;
#endif

inline constexpr reference::TinyConfig kFaultyModel{
    .hidden_size = 16, .layers = 1, .heads = 2, .kv_heads = 1, .head_size = 8, .ffn_size = 32};

/// What runs: each request is submitted before the step that it names.
struct Scenario {
  SchedulerConfig scheduler;
  executor::ExecutorOptions executor;
  gpu::GpuOptions gpu;
  std::vector<std::pair<std::uint64_t, Request>> requests;
};

/// What became of one request.
struct Ending {
  std::vector<TokenId> tokens;
  FinishReason reason = FinishReason::none;

  friend bool operator==(const Ending&, const Ending&) = default;
};

/// What became of a run.
struct RunReport {
  struct FailedStep {
    StepId step;
    std::string message;
    std::set<SeqId> sequences;  ///< that had a slice in it
  };

  std::optional<gpu::DeviceError> not_created;
  std::map<SeqId, Ending> endings;
  std::vector<FailedStep> failed_steps;
  Events events;
  bool lost = false;
  std::uint64_t bytes_left = 0;     ///< allocated when all is gone
  std::size_t calls_to_create = 0;  ///< until the executor was there
  struct Call {
    std::string what;
    bool downloads = false;  ///< copies to the host, by itself or as a graph
    bool replays = false;    ///< launches a graph
  };
  std::vector<Call> calls;
  std::string violation;         ///< of an invariant; empty if none
  bool idle_at_the_end = false;  ///< all blocks came free
};

class FaultyRun {
 public:
  FaultyRun(const Scenario& scenario, sim::FaultInjector faults)
      : scenario_(scenario), faults_(std::move(faults)) {}

  RunReport go() {
    sim::SimDevice device({.device = sim::find_device("h200").value(),
                           .mode = kFaultyRunMode,
                           .faults = [this](const sim::DeviceCall& call) { return next(call); }});
    auto executor = gpu::GpuExecutor::create(device, seeded_gpu_model(kFaultyModel),
                                             scenario_.executor, scenario_.gpu);
    report_.calls_to_create = report_.calls.size();
    if (executor) {
      serve(**executor);
      executor->reset();
    } else {
      report_.not_created = std::get<gpu::DeviceError>(executor.error());
    }
    report_.bytes_left = device.statistics().bytes_allocated;
    return std::move(report_);
  }

 private:
  sim::Fault next(const sim::DeviceCall& call) {
    using Kind = sim::DeviceCall::Kind;
    const bool copies_to_host = call.kind == Kind::copy && call.what == "to_host";
    if (call.kind == Kind::capture) capturing_ = call.what == "begin";
    report_.calls.push_back(
        {.what = std::string(call.what),
         .downloads = call.kind == Kind::graph_launch || (copies_to_host && !capturing_),
         .replays = call.kind == Kind::graph_launch});
    return faults_ ? faults_(call) : sim::Fault::none;
  }

  void serve(Executor& executor) {
    engine::Engine engine(scenario_.scheduler, executor);
    std::size_t submitted = 0;
    const auto& requests = scenario_.requests;
    for (std::uint64_t step = 0; engine.has_work() || submitted < requests.size(); ++step) {
      for (; submitted < requests.size() && requests[submitted].first <= step; ++submitted) {
        live_.insert(engine.submit(requests[submitted].second).value());
      }
      take(engine.step(), engine);
      if (auto found = check_invariants(engine.scheduler())) report_.violation = *found;
      if (engine.target_lost()) cancel_all(engine);
    }
    report_.lost = engine.target_lost();
    engine.clear_prefix_cache();
    report_.idle_at_the_end = engine.scheduler().cache().pool().used_count() == 0 &&
                              engine.scheduler().host().pool().used_count() == 0;
  }

  void take(const engine::Engine::Step& step, const engine::Engine& engine) {
    report_.events.count(step.plan);
    for (const Finish& finish : step.plan.finished) {
      report_.endings[finish.seq].reason = finish.reason;
      live_.erase(finish.seq);
    }
    bool failed = !step.result.slices.empty();
    for (const SliceResult& slice : step.result.slices) {
      const auto tokens = step.result.tokens_of(slice);
      auto& ending = report_.endings[slice.seq].tokens;
      ending.insert(ending.end(), tokens.begin(), tokens.end());
      failed = failed && slice.signal == FinishSignal::error;
    }
    if (!failed) return;
    RunReport::FailedStep& entry = report_.failed_steps.emplace_back();
    entry = {step.plan.step, engine.last_error(), {}};
    for (const Slice& slice : step.plan.slices) entry.sequences.insert(slice.seq);
  }

  /// What the engine's loop does when its target is lost (engine_loop.h).
  void cancel_all(engine::Engine& engine) {
    for (const SeqId seq : live_) static_cast<void>(engine.cancel(seq, FinishReason::error));
  }

  const Scenario& scenario_;
  sim::FaultInjector faults_;
  RunReport report_;
  std::set<SeqId> live_;  // submitted and not retired
  bool capturing_ = false;
};

/// The fault of call number `index`, and no other.
inline sim::FaultInjector fault_at(std::uint64_t index, sim::Fault fault) {
  return
      [=](const sim::DeviceCall& call) { return call.index == index ? fault : sim::Fault::none; };
}

}  // namespace forge::testing
