// restore_target: gives a new target the KV of a snapshot, by computing it again.
//
// A snapshot has no KV, and needs none: that of a block depends on its tokens and those before it
// alone, however it was computed. So it is computed by plans, as any KV is:
//
//   1. who waits with KV on the host runs up to there, and is swapped out, as it was;
//   2. every cached prefix is run once, by a sequence that is there for that only;
//   3. who runs goes on behind what is cached, up to where it was, and stays in the batch.
//
// The tables of the target are then those of the scheduler. No token is sampled.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "forge/core/executor.h"
#include "forge/core/scheduler_config.h"
#include "forge/trace/trace_event.h"

namespace forge::trace {

/// Its plans have numbers beyond those of a run. Requires: `executor` is fresh; the snapshot is one
/// of a scheduler with `config`, and its tokens are in the target's vocabulary. Errors: what the
/// target refuses, or says when it fails.
tl::expected<void, std::string> restore_target(Executor& executor, const SchedulerConfig& config,
                                               const SnapshotEvent& snapshot);

}  // namespace forge::trace
