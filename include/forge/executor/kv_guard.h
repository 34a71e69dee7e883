// KvGuard: holds a target to the reads that KvProvenance allows: one that would find the wrong KV
// aborts, with the step, the sequence and the slot. Does nothing unless ExecutorOptions::check_kv.
//
// It looks at tables and tokens, not at numbers, so it makes no difference whether a pass is
// reported before it runs (cpu) or after, when its drafts are known (sim, cuda).
//
// Thread contract: none of its own. Once the largest step has been seen, no call allocates.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "forge/core/step_plan.h"
#include "forge/executor/executor_options.h"
#include "forge/executor/kv_provenance.h"
#include "forge/executor/step_slices.h"

namespace forge::executor {

class KvGuard {
 public:
  /// `layers` of the model that runs.
  KvGuard(const ExecutorOptions& options, int layers);

  /// The plan's copies, in order.
  void copy(const StepPlan& plan);

  /// Pass number `pass` of the step. Requires: the copies and the passes before it have been
  /// reported, and its drafts are set.
  void run(const StepSlices& step, std::uint32_t pass);

  /// The step failed: what its copies and slices would have written may or may not be there, so
  /// nobody may read it. Requires: none of them has been reported.
  void forget(const StepPlan& plan, const StepSlices& step);

 private:
  int layers_;
  int draft_layers_;
  std::optional<KvProvenance> provenance_;
  std::vector<KvPass> passes_;
};

}  // namespace forge::executor
