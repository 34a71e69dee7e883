// forge-trace: replay, compare, show, step through and export recorded runs; verify receipts.
//
// A filter as others are: without a reader for its standard output it ends (SIGPIPE). What it
// writes to a file is there before it says so.
//
// Exit status: 0 equal (or done), 1 different, 2 unusable input or an output that cannot be
// written.
#include <CLI/CLI.hpp>
#include <csignal>

#include "program_output.h"
#include "subcommands.h"
#include "trace_compare.h"
#include "trace_file.h"
#include "trace_replay.h"
#include "trace_report.h"
#include "trace_step.h"
#include "trace_verify.h"

namespace forge::apps {
namespace {

/// The command line, and the command that it asks for.
class Commands : public Subcommands {
 public:
  Commands()
      : Subcommands("Replays, compares, shows and exports recorded runs; verifies receipts.",
                    "forge-trace") {
    add_comparisons();
    add_verify();
    add_reports();
    add_step();
    add("legend", "Explain the signs in which steps are shown", run_legend);
  }

 private:
  CLI::App* add_for_file(const char* name, const char* what, std::function<int()> command) {
    CLI::App* const added = add(name, what, std::move(command));
    added
        ->add_option("FILE", file_.paths,
                     "Trace to read; the files of a recording that went on in new ones, in order")
        ->required();
    add_truncated(*added);
    return added;
  }
  void add_for_two(const char* name, const char* what,
                   int (*command)(const TraceArgument&, const TraceArgument&)) {
    CLI::App* const added = add(name, what, [this, command] {
      return command({{left_}, file_.truncated}, {{right_}, file_.truncated});
    });
    added->add_option("A", left_, "First trace")->required();
    added->add_option("B", right_, "Second trace")->required();
    add_truncated(*added);
  }
  /// One option of all commands: how a trace is opened.
  void add_truncated(CLI::App& command) {
    command.add_flag("--truncated", file_.truncated,
                     "Take the whole lines of a file that ends within one, as a program that was "
                     "killed may leave it");
  }

  void add_comparisons() {
    CLI::App* const replay =
        add_for_file("replay", "Run the trace again and stop at the first step that differs",
                     [this] { return run_replay(*replay_flags_, file_, replay_); });
    add_replay_options(*replay, replay_);
    replay_flags_ = replay;
    add_for_two("diff", "Stop at the first event in which two traces differ", run_diff);
    add_for_two("bisect",
                "Find the first step in which two runs differ by their chained digests, reading "
                "only a few lines of both",
                run_bisect);
  }

  void add_verify() {
    CLI::App* const verify =
        add("verify", "Run the request of a receipt again and compare every token and bit",
            [this] { return run_verify(*verify_flags_, verify_); });
    add_verify_options(*verify, verify_);
    verify_flags_ = verify;
  }

  void add_reports() {
    CLI::App* const show = add_for_file("show", "Print steps as a table with the block map",
                                        [this] { return run_show(file_, range_); });
    show->add_option("--from", range_.from, "First step shown")->capture_default_str();
    show->add_option("--to", range_.to, "Last step shown [the last]");
    CLI::App* const why =
        add_for_file("why", "Say why a step was decided so, or what became of a sequence and why",
                     [this] { return run_why(file_, why_); });
    why->add_option("--at", why_.step, "The step; this or --seq");
    why->add_option("--seq", why_.seq, "The sequence; this or --at");
    why->add_flag("--json", why_.as_json, "Print it as JSON, on one line");
    CLI::App* const stats = add_for_file("stats", "Print what the run did, in numbers",
                                         [this] { return run_stats(file_, as_json_); });
    stats->add_flag("--json", as_json_, "Print them as JSON");
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
    step->add_option("--at", step_.at, "Step to start with [the first]");
    step->add_flag("--plain", step_.plain, "Print this step and end");
    step->add_flag("--json", step_.as_json,
                   "Print this step and the state after it as JSON, on one line, and end");
    step->add_option("--to", step_.to, "Last step that --json prints, a line each [that of --at]");
  }

  TraceArgument file_;
  std::string left_;
  std::string right_;
  std::string out_file_;
  ReplayOptions replay_;
  const CLI::App* replay_flags_ = nullptr;
  VerifyOptions verify_;
  const CLI::App* verify_flags_ = nullptr;
  trace::StepRange range_;
  WhyOptions why_;
  StepOptions step_;
  bool as_json_ = false;
};

}  // namespace
}  // namespace forge::apps

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that is too long is an error to be named
  using forge::apps::kUnusable;
  const int status = forge::apps::Commands().run(argc, argv, kUnusable);
  return forge::apps::flush_results("forge-trace") ? status : kUnusable;
}
