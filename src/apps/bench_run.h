// run_mode: one run of a workload through the engine, measured.
//
// Arrivals are those of the workload on a virtual clock (arrivals.h). The schedule is thus a
// function of workload and options, on any machine; only the seconds are the machine's.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "arrivals.h"
#include "forge/trace/trace_writer.h"
#include "target_options.h"
#include "workload.h"

namespace forge {

enum class BenchMode : std::uint8_t {
  sequential,   ///< one request at a time: a batch of one, no drafts
  continuous,   ///< continuous batching, no drafts
  speculative,  ///< continuous batching with drafts
};
inline constexpr std::array<std::string_view, 3> kBenchModeNames{"sequential", "continuous",
                                                                 "speculative"};
inline std::string_view name(BenchMode mode) {
  return kBenchModeNames[static_cast<std::size_t>(mode)];
}

/// `options` as they are in `mode`.
TargetOptions options_of_mode(TargetOptions options, BenchMode mode);

struct ModeResult {
  BenchMode mode = BenchMode::sequential;
  std::uint64_t finished = 0;
  std::uint64_t refused = 0;  ///< could never fit into the KV cache
  std::uint64_t prompt_tokens = 0;
  std::uint64_t generated_tokens = 0;
  std::uint64_t steps = 0;
  std::uint64_t preemptions = 0;
  double seconds = 0;          ///< wall time of the run
  double virtual_seconds = 0;  ///< the same on the virtual clock
  /// Wall time between consecutive tokens of a request. m tokens of one step, after a gap of g,
  /// count as m gaps of g / m. The first token of a request has none.
  double itl_p50_us = 0;
  double itl_p95_us = 0;
  std::uint64_t drafts_proposed = 0;
  std::uint64_t drafts_accepted = 0;
  PrefixCacheStatistics prefix_cache;
  std::uint64_t digest = 0;                  ///< RunDigest
  std::vector<std::uint64_t> token_digests;  ///< of each request's output, by workload index
  bool interrupted = false;
  bool trace_failed = false;

  double tokens_per_second() const {
    return seconds > 0 ? static_cast<double>(generated_tokens) / seconds : 0;
  }
};

struct BenchRun {
  const Workload& workload;
  TargetOptions options;  ///< of the mode
  VirtualClock clock;
  std::ostream* trace = nullptr;  ///< records each event if given
  /// Called after every step with the number of requests ended; false stops the run.
  std::function<bool(std::size_t ended)> progress;
};

ModeResult run_mode(BenchMode mode, const BenchRun& run);

}  // namespace forge
