// run_policy: one run of a workload through the scheduler alone, with a target that answers at
// once (null_executor.h), on a virtual clock (arrivals.h).
//
// What it measures is the time in schedule() and commit(), and nothing between them: making up
// prompts, submitting, the target's answer and the digest of the run are left out.
//
// How: each of the two calls is put between two readings of the steady clock. An interval between
// two readings contains the cost of one, so that cost, measured beforehand, is taken off once a
// call. What is left is wall time. Where other programs want the same core, they interrupt this one
// wherever it happens to be, inside and outside of the two calls alike; so the sum is multiplied by
// the share of the run's wall time in which this thread had a core (its CPU time / wall time).
#pragma once

#include <array>

#include "bench_run.h"

namespace forge::apps {

struct PolicyResult {
  std::uint64_t finished = 0;
  std::uint64_t refused = 0;  ///< could never fit into the KV cache
  std::uint64_t prompt_tokens = 0;
  std::uint64_t generated_tokens = 0;
  std::uint64_t steps = 0;
  std::uint64_t scheduled_sequences = 0;         ///< slices of all plans
  std::uint64_t scheduled_tokens = 0;            ///< tokens that ran, recomputed ones included
  std::array<std::uint64_t, 2> preemptions{};    ///< by PreemptionMode
  std::array<std::uint32_t, 3> overtaken_max{};  ///< by Priority, see overtakers_max
  PrefixCacheStatistics prefix_cache;
  double policy_seconds = 0;   ///< in schedule() and commit(), as explained above
  double clock_read_ns = 0;    ///< taken off twice a step
  double cpu_seconds = 0;      ///< CPU time of the whole run
  double seconds = 0;          ///< its wall time
  double virtual_seconds = 0;  ///< the same on the virtual clock
  std::uint64_t digest = 0;    ///< RunDigest
  bool interrupted = false;
  bool trace_failed = false;

  std::uint64_t preempted() const { return preemptions[0] + preemptions[1]; }
  double ns_per_scheduled_sequence() const;
  /// Requests for which everything was decided, a second of CPU time of the whole run.
  double requests_per_second() const;
  /// Part of the prompt tokens looked up that were found.
  double prefix_hit_rate() const;
};

/// Requires: run.options.kind is null.
PolicyResult run_policy(const BenchRun& run);

}  // namespace forge::apps
