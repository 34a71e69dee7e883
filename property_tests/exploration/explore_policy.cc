// explore_policy: visits every state that a few requests can bring a small scheduler to.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "instances.h"
#include "shrink.h"

namespace forge::testing {
namespace {

struct Options {
  bool full = false;
  std::string trace = "violation.jsonl";
};

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
  using Clock = std::chrono::steady_clock;
  std::uint64_t states = 0;
  std::uint64_t edges = 0;
  const Clock::time_point begin = Clock::now();
  const auto seconds_since = [](Clock::time_point time) {
    return std::chrono::duration<double>(Clock::now() - time).count();
  };
  std::printf("%-50s %10s %11s %6s %12s %8s\n", "instance", "states", "edges", "depth",
              "longest run", "seconds");
  for (const Instance& instance : instances) {
    const Clock::time_point start = Clock::now();
    const Exploration found = explore(instance);
    std::printf("%-50s %10llu %11llu %6u %12u %8.2f\n", instance.name.c_str(),
                static_cast<unsigned long long>(found.states),
                static_cast<unsigned long long>(found.edges), found.depth, found.longest_run,
                seconds_since(start));
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
              "", seconds_since(begin));
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
