// forge-trace show, why, stats, export and legend: what happened in this run?
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "forge/trace/trace_show.h"
#include "trace_file.h"

namespace forge::apps {

/// What forge-trace why is asked about: one of the two.
struct WhyOptions {
  std::optional<std::uint64_t> step;
  std::optional<std::uint64_t> seq;
  bool as_json = false;
};

/// Each returns an exit status (trace_file.h).
int run_show(const TraceArgument& file, const trace::StepRange& range);
int run_why(const TraceArgument& file, const WhyOptions& options);
int run_stats(const TraceArgument& file, bool as_json);
int run_export(const TraceArgument& file, const std::string& out_path);
int run_legend();

}  // namespace forge::apps
