// forge-bench cluster and forge-bench workload: flags and what they run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "arrivals.h"
#include "forge/core/scheduler_config.h"
#include "generated_workload.h"
#include "router.h"

namespace CLI {  // NOLINT(readability-identifier-naming): its own
class App;
}

namespace forge::apps {

struct ClusterOptions {
  SchedulerConfig config{.cache = {.num_blocks = 4096}};
  VirtualClock clock;
  std::uint32_t replicas = 4;
  std::vector<RoutingRule> rules;  ///< empty: all
  std::string workload_file;       ///< empty: generated
  WorkloadShape shape;
  std::optional<std::size_t> requests;
  std::string json_file;
};

/// Adds the subcommand to `app`; `options` must live until the command line has been parsed.
CLI::App* add_cluster_command(CLI::App& app, ClusterOptions& options);

/// Returns: an exit status, as that of forge-bench. `goes_on` is asked while it runs.
int run_cluster_command(const ClusterOptions& options, const std::function<bool()>& goes_on);

CLI::App* add_workload_command(CLI::App& app, WorkloadShape& shape);

/// Prints the requests on the standard output.
int run_workload_command(const WorkloadShape& shape);

}  // namespace forge::apps
