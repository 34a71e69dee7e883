#include "workload_flags.h"

#include <CLI/CLI.hpp>
#include <fstream>

#include "flag_range.h"

namespace forge::apps {

void add_workload_file(CLI::App& app, std::string& file, const std::string& more) {
  app.add_option("--workload", file,
                 "Recorded requests, the Azure LLM inference traces (CSV: TIMESTAMP,"
                 "ContextTokens,GeneratedTokens) or the Mooncake traces (JSON lines: timestamp, "
                 "input_length, output_length, hash_ids); without it, " +
                     more);
}

void add_virtual_clock(CLI::App& app, VirtualClock& clock) {
  const char* group = "Virtual clock of arrivals";
  app.add_option("--step-us", clock.step_us, "Fixed cost of a step, microseconds")
      ->capture_default_str()
      ->check(finite_range(0, 1e9))
      ->group(group);
  app.add_option("--token-us", clock.token_us, "Cost of a token that runs, microseconds")
      ->capture_default_str()
      ->check(finite_range(0, 1e9))
      ->group(group);
}

tl::expected<Workload, std::string> open_workload(const std::string& file, std::size_t limit) {
  std::ifstream in(file);
  if (!in) return tl::unexpected("--workload: cannot read '" + file + "'");
  auto workload = read_workload(in, limit);
  if (!workload) return tl::unexpected(file + ": " + workload.error());
  return workload;
}

}  // namespace forge::apps
