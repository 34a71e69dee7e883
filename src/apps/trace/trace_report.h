// forge-trace show, stats and export: what happened in this run?
#pragma once

#include <string>

#include "forge/trace/trace_show.h"
#include "trace_file.h"

namespace forge::apps {

/// Each returns an exit status (trace_file.h).
int run_show(const TraceArgument& file, const trace::StepRange& range);
int run_stats(const TraceArgument& file, bool as_json);
int run_export(const TraceArgument& file, const std::string& out_path);

}  // namespace forge::apps
