// The first line of a trace: what a run starts from.
#pragma once

#include <nlohmann/json.hpp>

#include "forge/core/scheduler_config.h"

namespace forge::trace {

/// A regular value. `target` is opaque to this layer: whoever records puts in whatever is needed to
/// build the same executor again (model, options).
struct TraceHeader {
  SchedulerConfig scheduler;
  nlohmann::json target = nlohmann::json::object();

  friend bool operator==(const TraceHeader&, const TraceHeader&) = default;
};

}  // namespace forge::trace
