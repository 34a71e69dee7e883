// The events of a trace: everything that went into a run and everything that came out.
//
// A run is a function of its header (trace_header.h) and of what was asked for (submit, cancel,
// release_session, clear_prefix_cache); the steps in between are what the scheduler decided (plan)
// and the target answered (result). Having both is what makes a run checkable: replay.h feeds the
// former and compares the latter.
//
// A recording may go on in a new file. That one begins with the state in which the file before
// ended (snapshot), so that it can be replayed without it.
//
// All types are regular values. The file format is described in trace_json.h.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "forge/core/cache_delta.h"
#include "forge/core/request.h"
#include "forge/core/scheduler_snapshot.h"
#include "forge/core/step_plan.h"

namespace forge::trace {

/// A request that the scheduler took in as `seq`. Refused requests are not part of a run.
struct SubmitEvent {
  SeqId seq;
  Request request;
  /// By which other programs know it: the trace-id of W3C Trace Context, 32 hexadecimal digits.
  /// Empty if it came without one. No plan depends on it.
  std::string trace_id;

  friend bool operator==(const SubmitEvent&, const SubmitEvent&) = default;
};

/// The caller, or a layer above the core, ended `seq`.
struct CancelEvent {
  SeqId seq;
  FinishReason reason = FinishReason::cancelled;

  friend bool operator==(const CancelEvent&, const CancelEvent&) = default;
};

/// The KV kept for `session` was given up.
struct ReleaseSessionEvent {
  SessionId session;

  friend bool operator==(const ReleaseSessionEvent&, const ReleaseSessionEvent&) = default;
};

/// All cached prefixes were forgotten.
struct ClearPrefixCacheEvent {
  friend bool operator==(const ClearPrefixCacheEvent&, const ClearPrefixCacheEvent&) = default;
};

/// One step: decided, done and committed.
struct StepEvent {
  StepPlan plan;
  StepResult result;
  CacheDelta cache;        ///< what was changed in the prefix cache since the step before
  std::uint64_t link = 0;  ///< RunDigest after this step

  friend bool operator==(const StepEvent&, const StepEvent&) = default;
};

/// A request that is unfinished at a snapshot.
struct OpenRequest {
  SubmitEvent submit;
  StepId before;                ///< the step that followed its submission
  std::vector<TokenId> output;  ///< its tokens so far
  std::uint32_t told = 1;       ///< PastRun::told (core/executor.h)

  friend bool operator==(const OpenRequest&, const OpenRequest&) = default;
};

/// The state right after a step, with which the files of a recording but the first begin.
struct SnapshotEvent {
  SchedulerSnapshot scheduler;
  std::vector<OpenRequest> requests;  ///< of its sequences, by id
  std::uint64_t link = 0;             ///< RunDigest of the steps before: names the file before

  friend bool operator==(const SnapshotEvent&, const SnapshotEvent&) = default;
};

using TraceEvent = std::variant<SubmitEvent, CancelEvent, ReleaseSessionEvent,
                                ClearPrefixCacheEvent, StepEvent, SnapshotEvent>;

}  // namespace forge::trace
