#include "bench_commands.h"

#include <CLI/CLI.hpp>
#include <string>

#include "bench_output.h"

namespace forge::apps {

void add_commands(CLI::App& app, BenchCommands& commands) {
  add_cluster_command(app, commands.cluster);
  add_workload_command(app, commands.shape);
  add_ledger_command(app, commands.ledger);
  app.require_subcommand(0, 1);
}

int run_command(const CLI::App& app, const BenchCommands& commands,
                const std::function<void()>& begins, const std::function<bool()>& goes_on) {
  const std::string& name = app.get_subcommands().front()->get_name();
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() > 0) {
      return bench_failure(option->get_name() + " before " + name + ": its flags are behind it");
    }
  }
  if (name == "workload") return run_workload_command(commands.shape);
  if (name == "ledger") return run_ledger_command(commands.ledger);
  begins();
  return run_cluster_command(commands.cluster, goes_on);
}

}  // namespace forge::apps
