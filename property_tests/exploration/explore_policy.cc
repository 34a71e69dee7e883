// explore_policy: visits every state that a few requests can bring a small scheduler to.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <fstream>

#include "instances.h"
#include "shrink.h"

namespace forge::testing {
namespace {

struct Options {
  bool full = false;
  std::string trace = "violation.jsonl";
};

/// Of this process, whatever else the machine does.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void report(const Instance& instance, const Violation& violation, const Options& options) {
  const Violation small = shrink(instance, violation);
  std::printf("%s\nafter %zu events:\n", small.text.c_str(), small.events.size());
  for (const Event& event : small.events) std::printf("  %s\n", to_string(event).c_str());
  std::ofstream out(options.trace);
  write_trace(instance, small.events, out);
  std::printf("forge-trace show %s draws it\n", options.trace.c_str());
}

int run(const Options& options) {
  const auto instances = options.full ? full_instances() : small_instances();
  std::uint64_t states = 0;
  std::uint64_t edges = 0;
  const double begin = cpu_seconds();
  std::printf("%-50s %10s %11s %6s %12s %8s\n", "instance", "states", "edges", "depth",
              "longest run", "CPU s");
  for (const Instance& instance : instances) {
    const double start = cpu_seconds();
    const Exploration found = explore(instance);
    std::printf("%-50s %10llu %11llu %6u %12u %8.2f\n", instance.name.c_str(),
                static_cast<unsigned long long>(found.states),
                static_cast<unsigned long long>(found.edges), found.depth, found.longest_run,
                cpu_seconds() - start);
    std::fflush(stdout);
    states += found.states;
    edges += found.edges;
    if (found.violation) {
      report(instance, *found.violation, options);
      return 1;
    }
  }
  std::printf("%-50s %10llu %11llu %6s %12s %8.2f\n", "all",
              static_cast<unsigned long long>(states), static_cast<unsigned long long>(edges), "",
              "", cpu_seconds() - begin);
  return 0;
}

}  // namespace
}  // namespace forge::testing

int main(int argc, char** argv) {
  forge::testing::Options options;
  CLI::App app{
      "Visits every state that a few requests can bring a small scheduler to, and checks "
      "every invariant in each."};
  app.add_flag("--full", options.full,
               "Millions of states, for minutes; else a few seconds' worth");
  app.add_option("--trace", options.trace, "Where the trace of a violation goes")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return forge::testing::run(options);
}
