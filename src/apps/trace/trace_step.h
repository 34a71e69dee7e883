// forge-trace step: a run in the terminal, one step a screen, forwards and backwards in time.
#pragma once

#include <cstdint>

#include "trace_file.h"

namespace forge::apps {

struct StepOptions {
  std::uint64_t at = 0;  ///< the step to start with
  bool plain = false;    ///< print that one and end
};

/// Returns an exit status (trace_file.h).
int run_step(const TraceArgument& file, const StepOptions& options);

}  // namespace forge::apps
