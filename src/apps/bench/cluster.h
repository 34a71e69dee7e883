// Cluster: replicas of the scheduler behind a router, on one virtual clock.
//
//   arrivals --> Router --> replica 0: Scheduler, a target that answers at once
//                  ^        replica 1: the same
//                  |        ...         |
//                  +-- KV events, ends -+
//
// A replica runs one step at a time. The step takes what VirtualClock says, and what it has decided
// is known at its end: its tokens, which requests have ended, what its cache has stored. At one
// moment steps end first, then requests arrive and are sent, then steps begin; replicas in order.
// So a run is a function of its options, the same on any machine, and with one replica it is that
// of policy_run.h, digest for digest.
//
// The schedulers are the engine's own. What is left out is the network: the router is told
// everything at once, and a request is at its replica when it is sent.
//
// Borrows the workload. Thread contract: none of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "arrivals.h"
#include "forge/core/scheduler.h"
#include "latency_log.h"
#include "router.h"
#include "workload.h"

namespace forge::apps {

struct ClusterRun {
  const Workload& workload;
  SchedulerConfig config;  ///< of each replica
  VirtualClock clock;
  RoutingRule rule = RoutingRule::turn;
  std::size_t replicas = 1;
  /// Called at each moment with the number of requests ended; false stops the run.
  std::function<bool(std::size_t ended)> progress;
};

struct ClusterResult {
  RoutingRule rule = RoutingRule::turn;
  std::uint64_t finished = 0;
  std::uint64_t refused = 0;  ///< could never fit into the KV cache
  std::uint64_t generated_tokens = 0;
  std::uint64_t preemptions = 0;
  std::vector<std::uint64_t> tokens_run;  ///< by each replica, recomputed ones included
  PrefixCacheStatistics prefix_cache;     ///< of all replicas
  Percentiles ttft_us;                    ///< on the virtual clock
  Percentiles itl_us;
  double virtual_seconds = 0;
  std::uint64_t digest = 0;  ///< of one replica its RunDigest; of more, a digest of theirs
  bool interrupted = false;

  /// Part of the prompt tokens looked up that were found.
  double prefix_hit_rate() const;
  /// What the busiest replica ran, by what one ran in the mean; 1 if all ran the same.
  double imbalance() const;
};

/// Requires: run.replicas is at least 1, and run.config is valid.
ClusterResult run_cluster(const ClusterRun& run);

}  // namespace forge::apps
