// forge-trace: replay, compare, show, step through and export recorded runs.
//
// Exit status: 0 equal (or done), 1 different, 2 unusable input.
#include <CLI/CLI.hpp>
#include <functional>

#include "trace_compare.h"
#include "trace_file.h"
#include "trace_replay.h"
#include "trace_report.h"
#include "trace_step.h"

namespace forge {
namespace {

/// The command line, and the command that it asks for.
class Commands {
 public:
  Commands() {
    app_.require_subcommand(1);
    add_comparisons();
    add_reports();
    add_step();
  }

  int run(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return app_.exit(error) == 0 ? kEqual : kUnusable;
    }
    return chosen_();
  }

 private:
  CLI::App* add(const char* name, const char* what, std::function<int()> command) {
    CLI::App* const added = app_.add_subcommand(name, what);
    added->final_callback([this, command = std::move(command)] { chosen_ = command; });
    return added;
  }
  CLI::App* add_for_file(const char* name, const char* what, std::function<int()> command) {
    CLI::App* const added = add(name, what, std::move(command));
    added->add_option("FILE", file_, "Trace")->required();
    return added;
  }
  void add_for_two(const char* name, const char* what, std::function<int()> command) {
    CLI::App* const added = add(name, what, std::move(command));
    added->add_option("A", file_, "Trace")->required();
    added->add_option("B", other_, "Trace")->required();
  }

  void add_comparisons() {
    CLI::App* const replay =
        add_for_file("replay", "Run the trace again and stop at the first step that differs",
                     [this] { return run_replay(*app_.get_subcommand("replay"), file_, replay_); });
    add_replay_options(*replay, replay_);
    add_for_two("diff", "Stop at the first event in which two traces differ",
                [this] { return run_diff(file_, other_); });
    add_for_two("bisect",
                "Find the first step in which two runs differ by their chained digests, reading "
                "only a few lines of both",
                [this] { return run_bisect(file_, other_); });
  }

  void add_reports() {
    CLI::App* const show = add_for_file("show", "Print steps as a table with the block map",
                                        [this] { return run_show(file_, range_); });
    show->add_option("--from", range_.from, "First step shown")->capture_default_str();
    show->add_option("--to", range_.to, "Last step shown [the last]");
    CLI::App* const stats = add_for_file("stats", "Print what the run did, in numbers",
                                         [this] { return run_stats(file_, as_json_); });
    stats->add_flag("--json", as_json_, "As JSON");
    CLI::App* const exported = add_for_file("export", "Write the run as a timeline",
                                            [this] { return run_export(file_, out_file_); });
    exported
        ->add_option("--perfetto", out_file_,
                     "JSON file for https://ui.perfetto.dev; a step is 1 ms")
        ->required();
  }

  void add_step() {
    CLI::App* const step = add_for_file(
        "step", "Step through the run in the terminal: n next, p previous, g go to, q quit",
        [this] { return run_step(file_, step_); });
    step->add_option("--at", step_.at, "Step to start with")->capture_default_str();
    step->add_flag("--plain", step_.plain, "Print this step and end");
  }

  CLI::App app_{"Replays, compares, shows and exports recorded runs.", "forge-trace"};
  std::function<int()> chosen_;
  std::string file_;
  std::string other_;
  std::string out_file_;
  ReplayOptions replay_;
  StepRange range_;
  StepOptions step_;
  bool as_json_ = false;
};

}  // namespace
}  // namespace forge

int main(int argc, char** argv) { return forge::Commands().run(argc, argv); }
