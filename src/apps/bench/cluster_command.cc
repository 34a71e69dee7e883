#include "cluster_command.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "bench_output.h"
#include "cluster_report.h"
#include "flag_choice.h"
#include "flag_range.h"
#include "progress_bar.h"
#include "target_flags.h"
#include "workload_flags.h"

namespace forge::apps {
namespace {

constexpr std::uint32_t kReplicasMax = 64;

void add_shape(CLI::App& app, WorkloadShape& shape) {
  app.add_option("--rate", shape.rate, "Requests a second, in the mean, of a generated workload")
      ->capture_default_str()
      ->check(finite_range(1e-3, 1e6));
  app.add_option("--seed", shape.seed, "Seed of a generated workload")->capture_default_str();
}

tl::expected<Workload, std::string> workload_of(const ClusterOptions& options) {
  if (!options.workload_file.empty()) {
    return open_workload(options.workload_file, options.requests.value_or(kRequestsMax));
  }
  WorkloadShape shape = options.shape;
  shape.requests = options.requests.value_or(shape.requests);
  return generate_workload(shape);
}

}  // namespace

CLI::App* add_cluster_command(CLI::App& app, ClusterOptions& options) {
  CLI::App* const cluster = app.add_subcommand(
      "cluster",
      "Several replicas of the scheduler behind a router, on a virtual clock: which rule of "
      "routing answers soonest, finds most in the prefix caches and shares the work out best");
  cluster->add_option("--replicas", options.replicas, "Replicas, each with --num-blocks of KV")
      ->capture_default_str()
      ->check(CLI::Range(1U, kReplicasMax));
  const auto set_rules = [&options](const std::vector<std::string>& names) {
    for (const std::string& name : names) options.rules.push_back(*from_name<RoutingRule>(name));
  };
  cluster
      ->add_option_function<std::vector<std::string>>(
          "--rule", set_rules,
          "Rule of the router, may be given several times: turn, load, prefix or both [all four]")
      ->check(CLI::IsMember(
          std::vector<std::string>(kNames<RoutingRule>.begin(), kNames<RoutingRule>.end())));
  add_workload_file(*cluster, options.workload_file, "conversations are generated");
  cluster
      ->add_option("--requests", options.requests,
                   "Requests, the first of FILE [all of FILE; 1000 generated ones]")
      ->check(CLI::Range(std::size_t{1}, kRequestsMax));
  add_shape(*cluster, options.shape);
  for (const char* flag : {"--rate", "--seed"}) {  // recorded requests have neither
    cluster->get_option(flag)->excludes(cluster->get_option("--workload"));
  }
  add_scheduler_options(*cluster, options.config);
  add_virtual_clock(*cluster, options.clock);
  cluster->add_option("--json", options.json_file, "Write the results as JSON");
  return cluster;
}

int run_cluster_command(const ClusterOptions& options, const std::function<bool()>& goes_on) {
  const auto workload = workload_of(options);
  if (!workload) return bench_failure(workload.error());
  std::vector<RoutingRule> rules = options.rules;
  if (rules.empty()) {
    rules = {RoutingRule::turn, RoutingRule::load, RoutingRule::prefix, RoutingRule::both};
  }
  std::vector<ClusterResult> results;
  for (const RoutingRule rule : rules) {
    ProgressBar bar(std::string(name_of(rule)), workload->size());
    results.push_back(run_cluster({.workload = *workload,
                                   .config = options.config,
                                   .clock = options.clock,
                                   .rule = rule,
                                   .replicas = options.replicas,
                                   .progress = [&](std::size_t ended) {
                                     bar.update(ended);
                                     return goes_on();
                                   }}));
    if (results.back().interrupted) break;
  }
  print_table(results, std::cout);
  if (const int status = save_results(to_json(results), options.json_file); status != 0) {
    return status;
  }
  return results.back().interrupted ? 130 : 0;
}

CLI::App* add_workload_command(CLI::App& app, WorkloadShape& shape) {
  CLI::App* const workload = app.add_subcommand(
      "workload",
      "Generate requests and print them as JSON lines of the Mooncake traces, for --workload");
  add_choice(*workload, "--kind", shape.kind,
             "chat: conversations, each turn of which repeats those before it; documents: short "
             "questions and, now and then, a long document");
  workload->add_option("--requests", shape.requests, "Requests")
      ->capture_default_str()
      ->check(CLI::Range(std::size_t{1}, kRequestsMax));
  add_shape(*workload, shape);
  return workload;
}

int run_workload_command(const WorkloadShape& shape) {
  write_workload(generate_workload(shape), std::cout);
  return 0;
}

}  // namespace forge::apps
