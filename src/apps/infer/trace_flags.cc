#include "trace_flags.h"

#include <CLI/CLI.hpp>
#include <cstdint>

namespace forge::apps {
namespace {

constexpr const char* kRecording = "What is recorded";
constexpr std::int64_t kSmallestFile = std::int64_t{1} << 16;
constexpr std::int64_t kLargestFile = std::int64_t{1} << 40;
constexpr std::int64_t kLargestWindow = std::int64_t{1} << 28;

}  // namespace

void add_trace(CLI::App& app, InferOptions& options) {
  trace::TraceLimits& limits = options.trace_limits;
  app.add_option("--trace", options.trace_file,
                 "Record the run as JSON lines into a file that is new or empty: none is "
                 "overwritten. If it cannot be written any more, requests are answered as before, "
                 "and the health says so")
      ->type_name("FILE")
      ->group(kRecording);
  app.add_option("--trace-size", limits.file_bytes,
                 "Go on in a new file when one has so many bytes: with --trace run.jsonl, "
                 "run.000001.jsonl and on. Each can be replayed without those before it")
      ->type_name("BYTES")
      ->check(CLI::Range(kSmallestFile, kLargestFile))
      ->group(kRecording);
  app.add_option("--trace-keep", limits.keep,
                 "Remove the oldest files of this run, so that so many are left [all are kept]")
      ->type_name("FILES")
      ->check(CLI::Range(1, 1 << 20))
      ->group(kRecording);
  app.add_option(
         "--trace-total", limits.total_bytes,
         "Record no more when the files that are kept have so many bytes together; requests "
         "are answered as before, and the health says so [no limit]")
      ->type_name("BYTES")
      ->check(CLI::Range(kSmallestFile, kLargestFile))
      ->group(kRecording);
  app.add_option("--trace-window", options.trace_window_bytes,
                 "Keep the last steps in memory, in so many bytes, for GET /forge/v1/trace and the "
                 "page; 0: none [4194304; with more than 8192 blocks of KV none, but for "
                 "--expose-text]")
      ->type_name("BYTES")
      ->check(CLI::Range(std::int64_t{0}, kLargestWindow))
      ->group(kRecording);
  app.add_flag("--expose-text", options.exposes_text,
               "The trace has the tokens of prompts and answers, the texts of grammars and the "
               "digests of all logits, so that a model can run it again; without it tokens are "
               "veiled: lengths and plans alone")
      ->group(kRecording);
}

bool keeps_last_steps(const InferOptions& options, std::uint32_t num_blocks) {
  if (options.trace_window_bytes) return *options.trace_window_bytes > 0;
  return options.exposes_text || num_blocks <= kQuickSnapshotBlocks;
}

std::string trace_fault(const CLI::App& app, const InferOptions& options) {
  for (const char* const flag : {"--trace-size", "--trace-keep", "--trace-total"}) {
    if (app.count(flag) > 0 && options.trace_file.empty()) {
      return std::string(flag) + " needs --trace";
    }
  }
  if (options.exposes_text && options.trace_file.empty() &&
      options.trace_window_bytes == std::uint64_t{0}) {
    return "--expose-text needs --trace, or a --trace-window";
  }
  const trace::TraceLimits& limits = options.trace_limits;
  if (limits.keep > 0 && limits.file_bytes == 0) return "--trace-keep needs --trace-size";
  if (limits.total_bytes > 0 && limits.total_bytes < limits.file_bytes) {
    return "--trace-total " + std::to_string(limits.total_bytes) + " is less than --trace-size " +
           std::to_string(limits.file_bytes);
  }
  return "";
}

}  // namespace forge::apps
