#include "ledger_command.h"

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

#include "bench_output.h"
#include "ledger_report.h"

namespace forge::apps {
namespace {

tl::expected<NamedRecording, std::string> open_recording(const std::string& flag,
                                                         const std::string& file) {
  std::ifstream in(file);
  if (!in) return tl::unexpected(flag + ": cannot read '" + file + "'");
  auto recording = read_recording(in);
  if (!recording) return tl::unexpected(file + ": " + recording.error());
  return NamedRecording{file, *std::move(recording)};
}

tl::expected<std::vector<NamedRecording>, std::string> open_recordings(
    const std::string& flag, const std::vector<std::string>& files) {
  std::vector<NamedRecording> recordings;
  recordings.reserve(files.size());
  for (const std::string& file : files) {
    auto recording = open_recording(flag, file);
    if (!recording) return tl::unexpected(recording.error());
    recordings.push_back(*std::move(recording));
  }
  return recordings;
}

}  // namespace

CLI::App* add_ledger_command(CLI::App& app, LedgerOptions& options) {
  CLI::App* const ledger = app.add_subcommand(
      "ledger",
      "Fit step times to some recordings of --step-times, and say how well they predict others: "
      "steps by kind, time to first token and time per output token");
  ledger->add_option("--fit", options.fit, "Recordings that the model is fitted to [required]")
      ->type_name("FILE");
  ledger
      ->add_option("--against", options.against,
                   "Recordings held back: of other workloads on the same target [required]")
      ->type_name("FILE");
  ledger->add_option("--save-model", options.model_file, "Write the fitted model as JSON");
  ledger->add_option("--json", options.json_file, "Write the results as JSON");
  return ledger;
}

int run_ledger_command(const LedgerOptions& options) {
  if (options.fit.empty()) return bench_failure("ledger needs --fit FILE");
  if (options.against.empty()) return bench_failure("ledger needs --against FILE");
  const auto fit = open_recordings("--fit", options.fit);
  if (!fit) return bench_failure(fit.error());
  const auto against = open_recordings("--against", options.against);
  if (!against) return bench_failure(against.error());
  const auto ledger = make_ledger(*fit, *against);
  if (!ledger) return bench_failure(ledger.error());
  print(*ledger, std::cout);
  if (!options.model_file.empty()) {
    std::ofstream out(options.model_file);
    if (!(out << model_json(*ledger).dump(2) << '\n' << std::flush)) {
      return bench_failure("--save-model: cannot write '" + options.model_file + "'");
    }
  }
  return save_results(to_json(*ledger), options.json_file);
}

}  // namespace forge::apps
