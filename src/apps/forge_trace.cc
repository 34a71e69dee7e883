// forge-trace: replay, compare and show recorded runs.
//
// Exit status: 0 equal (or shown), 1 different, 2 unusable input.
#include <fstream>
#include <iostream>

#include "forge/trace/replay.h"
#include "forge/trace/trace_json.h"
#include "forge/trace/trace_show.h"
#include "target_options.h"

namespace forge {
namespace {

int fail(const std::string& message) {
  std::cerr << "forge-trace: " << message << '\n';
  return 2;
}

/// A file and its reader.
struct OpenTrace {
  std::ifstream file;
  std::optional<TraceReader> reader;
};

/// Returns: an empty text if `trace` is ready to read, else what is wrong.
std::string open(const std::string& path, OpenTrace& trace) {
  trace.file.open(path, std::ios::binary);
  if (!trace.file) return path + ": cannot be read";
  auto reader = TraceReader::open(trace.file);
  if (!reader) return path + ": " + to_string(reader.error());
  trace.reader = *std::move(reader);
  return {};
}

int run_replay(const std::string& path) {
  OpenTrace trace;
  if (const std::string error = open(path, trace); !error.empty()) return fail(error);
  const auto options = from_trace_header(trace.reader->header());
  if (!options) return fail(path + ": line 1: " + options.error());
  CpuExecutor executor(options->executor);
  const auto vocabulary = static_cast<std::uint32_t>(options->executor.model.vocabulary_size);
  const auto report = replay(*trace.reader, executor, vocabulary);
  if (!report) return fail(path + ": " + to_string(report.error()));
  if (!report->difference) {
    std::cout << report->steps << " steps replayed, all equal, digest "
              << digest_text(report->digest) << '\n';
    return 0;
  }
  const ReplayDifference& d = *report->difference;
  std::cout << "step " << d.step.value << " (line " << d.line
            << ") differs, recorded against replayed: " << to_string(d.difference) << '\n';
  if (!d.target_error.empty()) std::cout << "the target failed: " << d.target_error << '\n';
  std::cout << report->steps << " steps before it are equal, digest " << digest_text(report->digest)
            << '\n';
  return 1;
}

int run_diff(const std::string& left_path, const std::string& right_path) {
  OpenTrace left;
  OpenTrace right;
  if (const std::string error = open(left_path, left); !error.empty()) return fail(error);
  if (const std::string error = open(right_path, right); !error.empty()) return fail(error);
  const auto comparison = compare(*left.reader, *right.reader);
  if (!comparison) {
    const ComparisonError& error = comparison.error();
    return fail((error.in_left ? left_path : right_path) + ": " + to_string(error.error));
  }
  if (comparison->header) {
    std::cout << "headers differ: " << to_string(*comparison->header) << '\n';
  }
  if (comparison->event) {
    const EventDifference& e = *comparison->event;
    std::cout << "step " << e.step.value << " (lines " << e.left.line << " and " << e.right.line
              << ") differs: " << to_string(e.difference) << '\n';
  }
  std::cout << comparison->equal_steps << " steps are equal\n";
  return comparison->equal() ? 0 : 1;
}

int run_show(const std::string& path, const StepRange& range) {
  OpenTrace trace;
  if (range.from > range.to) {
    return fail("--from " + std::to_string(range.from) + " is after --to " +
                std::to_string(range.to));
  }
  if (const std::string error = open(path, trace); !error.empty()) return fail(error);
  const auto shown = show(*trace.reader, range, std::cout);
  if (!shown) return fail(path + ": " + to_string(shown.error()));
  if (*shown == 0) return fail(path + ": no steps in this range");
  return 0;
}

}  // namespace
}  // namespace forge

int main(int argc, char** argv) {
  CLI::App app("Replays, compares and shows recorded runs.", "forge-trace");
  app.require_subcommand(1);
  std::string file;
  std::string other;
  forge::StepRange range;

  CLI::App* replay =
      app.add_subcommand("replay", "Run the trace again and stop at the first step that differs");
  replay->add_option("FILE", file, "Trace")->required();
  CLI::App* diff = app.add_subcommand("diff", "Stop at the first step in which two traces differ");
  diff->add_option("A", file, "Trace")->required();
  diff->add_option("B", other, "Trace")->required();
  CLI::App* show = app.add_subcommand("show", "Print steps as a table with the block map");
  show->add_option("FILE", file, "Trace")->required();
  show->add_option("--from", range.from, "First step shown")->capture_default_str();
  show->add_option("--to", range.to, "Last step shown [the last]");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (replay->parsed()) return forge::run_replay(file);
  if (diff->parsed()) return forge::run_diff(file, other);
  return forge::run_show(file, range);
}
