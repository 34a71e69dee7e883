// run_mode: one run of a workload through the engine, measured.
//
// Arrivals are those of the workload on a virtual clock (arrivals.h). The schedule is thus a
// function of workload and options, on any machine; only the seconds are the machine's.
//
// With a simulated device, the virtual clock is the device's: a step takes what its kernels and
// copies are estimated to take there. What the run then says of that clock is a prediction.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arrivals.h"
#include "forge/core/scheduler.h"
#include "forge/engine/draft_watch.h"
#include "forge/gpu/device.h"
#include "forge/runtime/loaded_model.h"
#include "forge/runtime/target_options.h"
#include "forge/trace/trace_writer.h"
#include "latency_log.h"
#include "step_recording.h"
#include "workload.h"

namespace forge::apps {

enum class BenchMode : std::uint8_t {
  sequential,   ///< one request at a time: a batch of one, no drafts
  continuous,   ///< continuous batching, no drafts
  speculative,  ///< continuous batching with drafts
};
constexpr Names<BenchMode> names_of(BenchMode) {
  return {"sequential", "continuous", "speculative"};
}

/// `options` as they are in `mode`.
runtime::TargetOptions options_of_mode(runtime::TargetOptions options, BenchMode mode);

/// What a run would take on a device, by the device's clock: kernels and copies, one after the
/// other, and nothing else.
struct Prediction {
  std::string device;
  bool calibrated = false;  ///< were the device's numbers compared with the real thing?
  Percentiles step_us;      ///< of steps that run something
  Percentiles ttft_us;
  Percentiles itl_us;
  Percentiles tpot_us;
  double busy_us = 0;                          ///< of the run, without the waiting for requests
  std::vector<gpu::Estimate::Kernel> kernels;  ///< by gpu::KernelId
};

struct ModeResult {
  BenchMode mode = BenchMode::sequential;
  std::uint64_t finished = 0;
  std::uint64_t refused = 0;  ///< could never fit into the KV cache
  std::uint64_t prompt_tokens = 0;
  std::uint64_t generated_tokens = 0;
  std::uint64_t steps = 0;
  std::uint64_t preemptions = 0;
  double seconds = 0;                   ///< wall time of the run
  double virtual_seconds = 0;           ///< the same on the virtual clock
  Percentiles itl_us;                   ///< wall time
  std::optional<Prediction> predicted;  ///< only for a simulated device
  std::string_view draft_source;        ///< what proposed them
  engine::DraftCounts drafts;
  PrefixCacheStatistics prefix_cache;
  gpu::LibraryReport library;                ///< of a GPU
  std::uint64_t digest = 0;                  ///< RunDigest
  std::vector<std::uint64_t> token_digests;  ///< of each request's output, by workload index
  std::string last_error;                    ///< of the target; empty if no step failed
  bool interrupted = false;
  bool trace_failed = false;

  double tokens_per_second() const { return per_second(seconds); }
  /// Tokens per second on the virtual clock.
  double virtual_tokens_per_second() const { return per_second(virtual_seconds); }

 private:
  double per_second(double time) const {
    return time > 0 ? static_cast<double>(generated_tokens) / time : 0;
  }
};

struct BenchRun {
  const Workload& workload;
  runtime::TargetOptions options;  ///< those of the mode
  VirtualClock clock;
  trace::TraceOutput* trace = nullptr;  ///< records each event if given
  StepRecording* step_times = nullptr;  ///< is filled with the run if given
  /// Called after every step with the number of requests ended; false stops the run.
  std::function<bool(std::size_t ended)> progress;
};

/// `model` is that of run.options.source. Errors: the target cannot be opened (target.h).
tl::expected<ModeResult, std::string> run_mode(BenchMode mode, const runtime::LoadedModel& model,
                                               const BenchRun& run);

}  // namespace forge::apps
