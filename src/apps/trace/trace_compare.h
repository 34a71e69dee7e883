// forge-trace diff and bisect: is this the same run?
#pragma once

#include "trace_file.h"

namespace forge::apps {

/// Each returns an exit status (trace_file.h).
int run_diff(const TraceArgument& left, const TraceArgument& right);
int run_bisect(const TraceArgument& left, const TraceArgument& right);

}  // namespace forge::apps
