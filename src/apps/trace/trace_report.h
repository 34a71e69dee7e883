// forge-trace show, stats and export: what happened in this run?
#pragma once

#include <string>

#include "forge/trace/trace_show.h"

namespace forge {

/// Each returns an exit status (trace_file.h).
int run_show(const std::string& path, const StepRange& range);
int run_stats(const std::string& path, bool as_json);
int run_export(const std::string& path, const std::string& out_path);

}  // namespace forge
