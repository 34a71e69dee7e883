// forge-bench ledger: flags and what they run.
#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): its own
class App;
}

namespace forge::apps {

struct LedgerOptions {
  std::vector<std::string> fit;      ///< files of recordings
  std::vector<std::string> against;  ///< likewise
  std::string model_file;
  std::string json_file;
};

/// Adds the subcommand to `app`; `options` must live until the command line has been parsed.
CLI::App* add_ledger_command(CLI::App& app, LedgerOptions& options);

/// Returns: an exit status, as that of forge-bench.
int run_ledger_command(const LedgerOptions& options);

}  // namespace forge::apps
