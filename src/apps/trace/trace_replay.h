// forge-trace replay: does the scheduler still decide so, and does a target, the recorded one or
// another, still answer so?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "target_flags.h"
#include "trace_file.h"

namespace CLI {  // NOLINT(readability-identifier-naming): its own
class App;
}

namespace forge::apps {

struct ReplayOptions {
  std::optional<runtime::TargetKind> target;  ///< none: the recorded kind
  runtime::DeviceOptions device;
  std::string model;              ///< empty: as recorded
  std::vector<std::string> lora;  ///< folders of the adapters; empty: as recorded
};

void add_replay_options(CLI::App& replay, ReplayOptions& options);

/// `flags` are those that were given. Returns an exit status (trace_file.h).
int run_replay(const CLI::App& flags, const TraceArgument& file, const ReplayOptions& options);

}  // namespace forge::apps
