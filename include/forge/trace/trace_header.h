// The first line of a trace: what a run starts from.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "forge/core/scheduler_config.h"
#include "forge/trace/token_veil.h"
#include "forge/trace/trace_json.h"

namespace forge::trace {

/// A regular value. `target` is opaque to this layer: the program that records puts in what is
/// needed to build the same executor again (model, options).
struct TraceHeader {
  SchedulerConfig scheduler;
  nlohmann::json target = nlohmann::json::object();
  TraceTokens tokens = TraceTokens::exposed;
  std::uint64_t version = kTraceVersion;  ///< of the format that was read, so also of `target`

  friend bool operator==(const TraceHeader&, const TraceHeader&) = default;
};

/// Does the trace say what was changed in the prefix cache (StepEvent::cache)?
inline bool says_what_is_cached(const TraceHeader& header) { return header.version >= 9; }

}  // namespace forge::trace
