// forge-trace step: a run in the terminal, one step a screen, forwards and backwards in time.
#pragma once

#include <cstdint>
#include <optional>

#include "trace_file.h"

namespace forge::apps {

struct StepOptions {
  std::optional<std::uint64_t> at;  ///< the step to start with; else the first
  bool plain = false;               ///< print that one and end
  bool as_json = false;             ///< likewise, as JSON, and those after it up to `to`
  std::optional<std::uint64_t> to;
};

/// Returns an exit status (trace_file.h).
int run_step(const TraceArgument& file, const StepOptions& options);

}  // namespace forge::apps
