// The subcommands of forge-bench: what runs without the flags of the program itself.
#pragma once

#include <functional>

#include "cluster_command.h"
#include "generated_workload.h"
#include "ledger_command.h"

namespace CLI {  // NOLINT(readability-identifier-naming): its own
class App;
}

namespace forge::apps {

struct BenchCommands {
  ClusterOptions cluster;
  WorkloadShape shape;
  LedgerOptions ledger;
};

/// Adds them to `app`; `commands` must live until the command line has been parsed.
void add_commands(CLI::App& app, BenchCommands& commands);

/// Runs the one that was given. Returns: an exit status, as that of forge-bench. Where it takes
/// long, `begins` is called before it, and `goes_on` is asked meanwhile.
/// Requires: one was given.
int run_command(const CLI::App& app, const BenchCommands& commands,
                const std::function<void()>& begins, const std::function<bool()>& goes_on);

}  // namespace forge::apps
