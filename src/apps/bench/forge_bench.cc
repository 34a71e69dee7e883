// forge-bench: what a target makes of a workload, and how fast.
//
//   --target cpu, sim, cuda   the same requests one at a time, batched continuously and with
//                             speculation; of sim also how long that is estimated to take on a GPU
//   --target null             the policy alone, once, as the flags configure it (policy_run.h)
//   --url URL                 any OpenAI server, as its clients see it (load_run.h)
//   --model FILE              how fast prefill and decode are, against the machine's limits
//                             (model_bench.h); with --mode or --workload the runs above, of it
//   cluster                   replicas of the scheduler behind a router (cluster.h)
//   workload                  requests made up, for --workload (generated_workload.h)
//   ledger                    step times predicted, against those of --step-times (ledger.h)
//
// Exit status: 0 done; 1 if two modes disagree about a request's tokens, or requests to a server
// failed; 2 for bad input, a target that cannot be opened or fails, or an output that cannot be
// written (the run still goes to its end, and the other outputs get theirs); 130 after Ctrl-C.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>

#include "bench_commands.h"
#include "bench_output.h"
#include "bench_report.h"
#include "library_report.h"
#include "load_flags.h"
#include "load_report.h"
#include "model_bench_report.h"
#include "policy_report.h"
#include "profile_report.h"
#include "program_output.h"
#include "progress_bar.h"
#include "target_flags.h"
#include "workload_flags.h"

namespace forge::apps {
namespace {

volatile std::sig_atomic_t interrupted = 0;

struct BenchOptions {
  runtime::TargetOptions target;
  std::string workload_file;
  std::optional<std::size_t> requests;
  bool mixed_priorities = false;
  std::vector<BenchMode> modes;
  VirtualClock clock;
  engine::AcceptanceBand acceptance;
  std::string trace_file;
  std::string step_times_file;
  std::string json_file;
  ProfileOptions profile;
  LoadFlags load;
  bool runs_given = false;  ///< --mode or --workload was
};

void add_options(CLI::App& app, BenchOptions& options) {
  constexpr std::array kKinds{runtime::TargetKind::cpu, runtime::TargetKind::sim,
                              runtime::TargetKind::cuda, runtime::TargetKind::null};
  add_target_choice(app, options.target.kind,
                    "A model, in each --mode, on the cpu, on a simulated GPU (sim) or on "
                    "a GPU (cuda), or null: the policy alone, one run, nothing is computed",
                    kKinds);
  add_workload_file(app, options.workload_file, "synthetic ones");
  app.add_option("--requests", options.requests,
                 "Requests, the first of FILE [64; with --target null all of FILE]")
      ->check(CLI::Range(std::size_t{1}, kRequestsMax));
  app.add_flag("--mixed-priorities", options.mixed_priorities,
               "Requests of low, normal and high priority in turn, instead of all normal");
  const auto set_modes = [&options](const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      options.modes.push_back(*from_name<BenchMode>(name));
    }
  };
  app.add_option_function<std::vector<std::string>>(
         "--mode", set_modes, "Way to run a model, may be given several times [all three]")
      ->check(CLI::IsMember(
          std::vector<std::string>(kNames<BenchMode>.begin(), kNames<BenchMode>.end())));
  add_target_options(app, options.target);
  add_acceptance_band(app, options.acceptance);
  add_device_options(app, options.target.device);
  add_virtual_clock(app, options.clock);
  app.add_option(
      "--trace", options.trace_file,
      "Record a run as JSON lines, for forge-trace: of a model the continuous one (or the "
      "only one), with the digests of all logits, into a file that is new or empty: none is "
      "overwritten");
  app.add_option("--step-times", options.step_times_file,
                 "Write how long each step of a run took and what it had to do, for forge-bench "
                 "ledger: of the run that --trace would record");
  add_profile(app, options.profile);
  add_load_flags(app, options.load);
  app.add_option("--json", options.json_file, "Write the results as JSON");
}

/// What a target runs.
struct ModelWorkload {
  const Workload& workload;
  const runtime::LoadedModel& model;
};

/// A simulated device has a clock of its own.
const std::vector<FlagUse>& flag_uses() {
  using enum runtime::TargetKind;
  static const std::vector<FlagUse> kUses{{"--mode", {cpu, sim, cuda}},
                                          {"--draft-alarm", {cpu, sim, cuda}},
                                          {"--step-times", {cpu, sim, cuda}},
                                          {"--step-us", {cpu, cuda, null}},
                                          {"--token-us", {cpu, cuda, null}}};
  return kUses;
}

/// The speed of a model is measured without requests: flags that shape them, or the cache and the
/// batch that they run in, have no use there. Returns: an empty text, or what is wrong.
std::string flag_without_requests(const CLI::App& app) {
  constexpr std::array kOfUse = {"--help", "--model",   "--threads",
                                 "--json", "--profile", "--target"};
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || std::find(kOfUse.begin(), kOfUse.end(), name) != kOfUse.end()) {
      continue;
    }
    return name + " beside --model needs --mode or --workload: without them no request runs";
  }
  return {};
}

/// Index of the mode to record, which `flag` demands.
tl::expected<std::size_t, std::string> mode_to_record(const std::vector<BenchMode>& modes,
                                                      const std::string& flag) {
  if (modes.size() == 1) return std::size_t{0};
  const auto found = std::find(modes.begin(), modes.end(), BenchMode::continuous);
  if (found != modes.end()) return static_cast<std::size_t>(found - modes.begin());
  return tl::unexpected(flag + " records one run: the continuous one or a single --mode");
}

/// What records a run; null where nothing does.
struct RunRecorders {
  trace::TraceOutput* trace = nullptr;
  StepRecording* step_times = nullptr;
};

tl::expected<ModeResult, std::string> run_with_progress(BenchMode mode, const BenchOptions& options,
                                                        const ModelWorkload& work,
                                                        const RunRecorders& recorders) {
  const Workload& workload = work.workload;
  ProgressBar bar(std::string(name_of(mode)), workload.size());
  BenchRun run{.workload = workload,
               .options = options_of_mode(options.target, mode),
               .clock = options.clock,
               .trace = recorders.trace,
               .step_times = recorders.step_times,
               .progress = [&bar](std::size_t ended) {
                 bar.update(ended);
                 return interrupted == 0;
               }};
  run.options.executor.digest_logits = recorders.trace != nullptr;
  return run_mode(mode, work.model, run);
}

tl::expected<Workload, std::string> load_workload(const BenchOptions& options) {
  constexpr std::size_t kFew = 64;
  if (options.workload_file.empty()) return synthetic_workload(options.requests.value_or(kFew));
  const bool whole = options.target.kind == runtime::TargetKind::null;
  return open_workload(options.workload_file,
                       options.requests.value_or(whole ? kRequestsMax : kFew));
}

int incomplete(const std::string& trace_path) {
  return bench_failure("--trace: '" + trace_path + "' has only the beginning of the run");
}

int report(const std::vector<ModeResult>& results, std::span<const NamedProfile> profiles,
           const BenchOptions& options) {
  print_table(results, std::cout);
  print_library(results.front().library, std::cerr);  // all modes have the same
  for (const NamedProfile& named : profiles) print_profile(named, std::cout);
  for (const ModeResult& r : results) {
    const auto alarm = engine::outside(options.acceptance, r.drafts);
    if (alarm) std::cout << "ALARM: " << name_of(r.mode) << ": " << *alarm << '\n';
  }
  const std::string disagreement = first_disagreement(results);
  const std::string lost = save_timeline(profiles, options.profile.timeline_file);
  if (!lost.empty()) return bench_failure(lost);
  if (const int status = save_results(to_json(results), options.json_file); status != 0)
    return status;
  for (const ModeResult& r : results) {
    if (!r.last_error.empty())
      return bench_failure("mode " + std::string(name_of(r.mode)) +
                           ": the target failed: " + r.last_error);
    if (r.trace_failed) return incomplete(options.trace_file);
  }
  if (!disagreement.empty()) {
    std::cout << "DISAGREEMENT: " << disagreement << '\n';
    return 1;
  }
  if (interrupted != 0) return 130;
  if (results.size() > 1) std::cout << "All modes produced the same tokens for every request.\n";
  return 0;
}

/// Writes them where --step-times says, if it does. Returns: 0, or an exit status.
int save_step_times(StepRecording& recording, const BenchOptions& options) {
  if (options.step_times_file.empty()) return 0;
  if (!options.workload_file.empty()) {
    recording.workload.name = std::filesystem::path(options.workload_file).filename();
  }
  std::ofstream out(options.step_times_file);
  write_recording(recording, out);
  if (out.flush()) return 0;
  return bench_failure("--step-times: cannot write '" + options.step_times_file + "'");
}

int bench_modes(BenchOptions options, const ModelWorkload& work) {
  if (options.modes.empty()) {
    options.modes = {BenchMode::sequential, BenchMode::continuous, BenchMode::speculative};
  }
  const bool is_traced = !options.trace_file.empty();
  const bool times_steps = !options.step_times_file.empty();
  std::size_t recorded = options.modes.size();
  if (is_traced || times_steps) {
    const auto index = mode_to_record(options.modes, is_traced ? "--trace" : "--step-times");
    if (!index) return bench_failure(index.error());
    recorded = *index;
  }
  const auto trace = create_trace("forge-bench", options.trace_file);
  if (!trace) return bench_failure(trace.error());
  std::vector<NamedProfile> profiles;
  if (options.profile.on) {
    const model::PassProfile empty(linear::measure_limits(work.model.threads()));
    for (const BenchMode mode : options.modes) {
      profiles.push_back({std::string(name_of(mode)), empty});
    }
  }
  StepRecording step_times;
  std::vector<ModeResult> results;
  for (std::size_t i = 0; i < options.modes.size() && interrupted == 0; ++i) {
    RunRecorders recorders;
    if (i == recorded) recorders.trace = trace->get();
    if (i == recorded && times_steps) recorders.step_times = &step_times;
    if (options.profile.on) options.target.profile = &profiles[i].profile;
    auto result = run_with_progress(options.modes[i], options, work, recorders);
    if (!result) return bench_failure(result.error());
    results.push_back(*std::move(result));
  }
  profiles.resize(std::min(profiles.size(), results.size()));
  const int saved = save_step_times(step_times, options);
  const int status = report(results, profiles, options);
  return status != 0 ? status : saved;
}

int bench_policy(const BenchOptions& options, const Workload& workload) {
  const auto trace = create_trace("forge-bench", options.trace_file);
  if (!trace) return bench_failure(trace.error());
  PolicyResult result;
  {
    ProgressBar bar("policy", workload.size());
    result = run_policy({.workload = workload,
                         .options = options.target,
                         .clock = options.clock,
                         .trace = trace->get(),
                         .progress = [&bar](std::size_t ended) {
                           bar.update(ended);
                           return interrupted == 0;
                         }});
  }
  print(result, std::cout);
  if (const int status = save_results(to_json(result), options.json_file); status != 0)
    return status;
  if (result.trace_failed) return incomplete(options.trace_file);
  return result.interrupted ? 130 : 0;
}

int bench_server(const BenchOptions& options, const Workload& workload) {
  const LoadFlags& flags = options.load;
  tl::expected<LoadResult, std::string> result;
  {
    ProgressBar bar("requests", workload.size());
    result = run_load(flags.options, workload, [&bar](std::size_t ended) {
      bar.update(ended);
      return interrupted == 0;
    });
  }
  if (!result) return bench_failure(result.error());
  const LoadReport report = report_of(*result, flags.limits);
  print(report, flags, *result, std::cout);
  if (const int status = save_results(to_json(report, flags, *result), options.json_file);
      status != 0) {
    return status;
  }
  if (result->interrupted) return 130;
  return report.failed > 0 ? 1 : 0;
}

int bench_speed(const BenchOptions& options, const runtime::LoadedModel& model,
                double load_seconds) {
  ModelBenchResult result;
  {
    ProgressBar bar("passes", model_bench_cases());
    result = bench_model(model, options.target.executor.kv_type, options.profile.on,
                         [&bar](std::size_t done) {
                           bar.update(done);
                           return interrupted == 0;
                         });
  }
  result.load_seconds = load_seconds;
  print_table(result, std::cout);
  if (const int status = save_results(to_json(result), options.json_file); status != 0)
    return status;
  const std::string lost = save_timeline(result.profiles, options.profile.timeline_file);
  if (!lost.empty()) return bench_failure(lost);
  return result.interrupted ? 130 : 0;
}

/// Passes of a model from a file, in place of runs of requests.
bool measures_speed(const BenchOptions& options) {
  return options.target.source.is_file() && !options.runs_given &&
         options.target.kind == runtime::TargetKind::cpu;
}

void catch_interrupts() {
  std::signal(SIGINT, [](int) { interrupted = 1; });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
}

int bench(BenchOptions options) {
  auto workload = load_workload(options);
  if (!workload) return bench_failure(workload.error());
  if (options.mixed_priorities) mix_priorities(*workload);
  catch_interrupts();
  if (options.load.is_on) return bench_server(options, *workload);
  if (options.target.kind == runtime::TargetKind::null) return bench_policy(options, *workload);
  const auto start = std::chrono::steady_clock::now();
  const auto model = runtime::LoadedModel::open(options.target.source, options.target.kind);
  if (!model) return bench_failure(model.error());
  const std::chrono::duration<double> loading = std::chrono::steady_clock::now() - start;
  if (measures_speed(options)) {
    return bench_speed(options, **model, loading.count());
  }
  const auto fits = runtime::configure(options.target, **model);
  if (!fits) return bench_failure(fits.error());
  return bench_modes(std::move(options), {*workload, **model});
}

}  // namespace
}  // namespace forge::apps

int main(int argc, char** argv) {
  forge::apps::ignore_write_signals();
  CLI::App app(
      "Runs a workload and reports what came of it and how fast: a model on the CPU, on a "
      "simulated\n"
      "GPU or on a GPU, the same requests one at a time, batched continuously and with "
      "speculation,\n"
      "or, with --target null, the scheduler alone; or, with --url, any OpenAI server. With "
      "--model "
      "FILE and neither --mode nor\n"
      "--workload, how fast the model reads prompts and decodes, against what the machine can do.",
      "forge-bench");
  forge::apps::BenchOptions options;
  options.target.executor.drafts = 4;
  forge::apps::add_options(app, options);
  forge::apps::BenchCommands commands;
  forge::apps::add_commands(app, commands);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (!app.get_subcommands().empty()) {
    const int status = forge::apps::run_command(app, commands, forge::apps::catch_interrupts,
                                                [] { return forge::apps::interrupted == 0; });
    if (forge::apps::flush_results("forge-bench") || status != 0) return status;
    return 2;
  }
  const auto kind = options.target.kind;
  options.runs_given = app.count("--mode") + app.count("--workload") > 0;
  const std::string unfit = forge::apps::load_fault(app, options.load);
  if (!unfit.empty()) return forge::apps::bench_failure(unfit);
  const std::string misplaced = forge::apps::misplaced_flag(app, kind, forge::apps::flag_uses());
  if (!misplaced.empty()) return forge::apps::bench_failure(misplaced);
  if (forge::apps::measures_speed(options)) {
    const std::string useless = forge::apps::flag_without_requests(app);
    if (!useless.empty()) return forge::apps::bench_failure(useless);
  }
  if (kind == forge::runtime::TargetKind::null && app.count("--speculative") == 0) {
    options.target.executor.drafts = 0;
  }
  const int status = forge::apps::bench(std::move(options));
  if (forge::apps::flush_results("forge-bench") || status != 0) return status;
  return 2;
}
