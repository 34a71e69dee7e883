// StepRecorder: fills a recording of step times (step_recording.h) while a run goes on.
//
// It keeps everything in memory, a hundred bytes or so a step, so that writing is no part of the
// run.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "forge/runtime/loaded_model.h"
#include "forge/runtime/target.h"
#include "forge/runtime/target_options.h"
#include "step_recording.h"

namespace forge::apps {

RecordedTarget recorded_target(const runtime::TargetOptions& options,
                               const runtime::LoadedModel& model, const runtime::Target& target);

/// Of a synthetic workload, unless the caller gives it another name.
RecordedWorkload recorded_workload(std::string_view mode, const runtime::TargetOptions& options,
                                   std::size_t requests);

/// Borrows the recording. Thread contract: one thread at a time.
class StepRecorder {
 public:
  explicit StepRecorder(StepRecording& recording) : recording_(recording) {}

  void arrive(std::size_t request);

  /// A step that has taken so long. If it runs nothing, it leaves no trace.
  void step(const StepPlan& plan, double execute_us, double policy_us);

  /// Tokens of that step. Requires: count is at least 1.
  void take(std::size_t request, std::size_t count);

 private:
  StepRecording& recording_;
  std::vector<std::uint32_t> arrived_;
};

}  // namespace forge::apps
