// KvGuard: checks a target's reads with KvProvenance: a read that would find the wrong KV aborts,
// with the step, the sequence and the slot. It does nothing unless ExecutorOptions::check_kv.
//
// It looks at tables and tokens, not at numbers, so it makes no difference whether a pass is
// reported before it runs (cpu) or after, when its drafts are known (sim, cuda). The pool of a
// draft model is watched as the model's is.
//
// Thread contract: none of its own. Once the largest step has been seen, no call allocates.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "forge/core/step_plan.h"
#include "forge/executor/executor_options.h"
#include "forge/executor/kv_provenance.h"
#include "forge/executor/step_slices.h"

namespace forge::executor {

class KvGuard {
 public:
  /// `layers` are those of the model, `draft_model_layers` those of the draft model, if there is
  /// one.
  KvGuard(const ExecutorOptions& options, int layers, std::optional<int> draft_model_layers);

  /// Takes in the plan's copies, in order.
  void copy(const StepPlan& plan);

  /// Takes in a pass of the step. Requires: the copies and the passes before it have been reported,
  /// and the drafts that it runs are set.
  void run(const StepSlices& step, const Pass& pass);

  /// Called when the step failed: what its copies and slices would have written may or may not be
  /// there, so no pass may read it. Requires: none of them has been reported.
  void forget(const StepPlan& plan, const StepSlices& step);

  /// All KV is gone.
  void lose_kv();

 private:
  /// The KV pool of one model.
  struct Watched {
    int layers;
    KvProvenance provenance;
  };
  std::array<std::optional<Watched>, kPassModels> pools_;
  std::vector<KvPass> passes_;
};

}  // namespace forge::executor
