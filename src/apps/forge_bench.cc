// forge-bench: the same requests one at a time, batched continuously and with speculation.
//
// Exit status: 0; 1 if two modes disagree about a request's tokens; 2 for bad input or a file
// that cannot be written; 130 after Ctrl-C.
#include <csignal>
#include <fstream>
#include <iostream>

#include "bench_report.h"
#include "progress_bar.h"

namespace forge {
namespace {

volatile std::sig_atomic_t interrupted = 0;

struct BenchOptions {
  TargetOptions target;
  std::string workload_file;
  std::size_t requests = 64;
  std::vector<BenchMode> modes;
  VirtualClock clock;
  std::string trace_file;
  std::string json_file;
};

void add_options(CLI::App& app, BenchOptions& options) {
  app.add_option("--workload", options.workload_file,
                 "Recorded requests (CSV: TIMESTAMP,ContextTokens,GeneratedTokens); without it, "
                 "synthetic ones");
  auto* requests = app.add_option("--requests", options.requests, "Requests, the first of FILE");
  requests->capture_default_str()->check(CLI::Range(std::size_t{1}, std::size_t{1} << 24));
  std::map<std::string, BenchMode> modes;
  for (std::size_t i = 0; i < kBenchModeNames.size(); ++i) {
    modes.emplace(kBenchModeNames[i], static_cast<BenchMode>(i));
  }
  app.add_option("--mode", options.modes,
                 "sequential, continuous or speculative; may be repeated [all three]")
      ->transform(CLI::CheckedTransformer(modes).description("MODE"));
  add_target_options(app, options.target);
  const char* clock = "Virtual clock of arrivals";
  app.add_option("--step-us", options.clock.step_us, "Fixed cost of a step, microseconds")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e9))
      ->group(clock);
  app.add_option("--token-us", options.clock.token_us, "Cost of a token that runs, microseconds")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e9))
      ->group(clock);
  app.add_option("--trace", options.trace_file,
                 "Record the continuous run (or the only one) as JSON lines, with the digests of "
                 "all logits");
  app.add_option("--json", options.json_file, "Write the results as JSON");
}

int fail(const std::string& message) {
  std::cerr << "forge-bench: " << message << '\n';
  return 2;
}

/// Index of the mode to record.
tl::expected<std::size_t, std::string> mode_to_trace(const std::vector<BenchMode>& modes) {
  if (modes.size() == 1) return std::size_t{0};
  const auto found = std::find(modes.begin(), modes.end(), BenchMode::continuous);
  if (found != modes.end()) return static_cast<std::size_t>(found - modes.begin());
  return tl::unexpected(
      std::string("--trace records one run: the continuous one or a single --mode"));
}

ModeResult run_with_progress(BenchMode mode, const BenchOptions& options, const Workload& workload,
                             std::ostream* trace) {
  ProgressBar bar(std::string(name(mode)), workload.size());
  BenchRun run{.workload = workload,
               .options = options_of_mode(options.target, mode),
               .clock = options.clock,
               .trace = trace,
               .progress = [&bar](std::size_t ended) {
                 bar.update(ended);
                 return interrupted == 0;
               }};
  run.options.executor.digest_logits = trace != nullptr;
  return run_mode(mode, run);
}

tl::expected<Workload, std::string> load_workload(const BenchOptions& options) {
  if (options.workload_file.empty()) return synthetic_workload(options.requests);
  std::ifstream in(options.workload_file);
  if (!in) return tl::unexpected("--workload: cannot read '" + options.workload_file + "'");
  auto workload = read_workload(in, options.requests);
  if (!workload) return tl::unexpected(options.workload_file + ": " + workload.error());
  return workload;
}

int report(const std::vector<ModeResult>& results, const BenchOptions& options) {
  print_table(results, std::cout);
  const std::string disagreement = first_disagreement(results);
  if (!options.json_file.empty()) {
    std::ofstream out(options.json_file);
    if (!(out << to_json(results).dump(2) << '\n' << std::flush)) {
      return fail("--json: cannot write '" + options.json_file + "'");
    }
  }
  for (const ModeResult& r : results) {
    if (r.trace_failed) return fail("--trace: cannot write '" + options.trace_file + "'");
  }
  if (!disagreement.empty()) {
    std::cout << "DISAGREEMENT: " << disagreement << '\n';
    return 1;
  }
  if (interrupted != 0) return 130;
  if (results.size() > 1) std::cout << "All modes produced the same tokens for every request.\n";
  return 0;
}

int bench(BenchOptions options) {
  if (options.modes.empty()) {
    options.modes = {BenchMode::sequential, BenchMode::continuous, BenchMode::speculative};
  }
  const auto workload = load_workload(options);
  if (!workload) return fail(workload.error());
  // A step is a line of a kilobyte: many lines a system call.
  std::vector<char> trace_buffer(std::size_t{1} << 16);
  std::ofstream trace;
  trace.rdbuf()->pubsetbuf(trace_buffer.data(), static_cast<std::streamsize>(trace_buffer.size()));
  std::size_t traced = options.modes.size();
  if (!options.trace_file.empty()) {
    const auto index = mode_to_trace(options.modes);
    if (!index) return fail(index.error());
    traced = *index;
    trace.open(options.trace_file, std::ios::binary);
    if (!trace) return fail("--trace: cannot write '" + options.trace_file + "'");
  }
  std::signal(SIGINT, [](int) { interrupted = 1; });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
  std::vector<ModeResult> results;
  for (std::size_t i = 0; i < options.modes.size() && interrupted == 0; ++i) {
    std::ostream* const out = i == traced ? &trace : nullptr;
    results.push_back(run_with_progress(options.modes[i], options, *workload, out));
  }
  return report(results, options);
}

}  // namespace
}  // namespace forge

int main(int argc, char** argv) {
  CLI::App app("Runs the same requests one at a time, batched continuously and with speculation.",
               "forge-bench");
  forge::BenchOptions options;
  options.target.executor.drafts = 4;
  forge::add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return forge::bench(std::move(options));
}
