// What steps of whole models cost by formula, and how long they would take on a described device:
// a prediction, since no GPU runs anything.
//
// The executor runs on a CountingDevice: all launches of a step, with the arguments that they have
// on a GPU, each counted by sim::work_of() and timed by sim::estimate(). Beside that stands what
// the step needs whatever the kernels are (step_needs.h). What kernels move beyond it they hand to
// one another, or read again.
//
// Thread contract: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "forge/sim/device_description.h"
#include "forge/sim/kernel_work.h"
#include "model_cases.h"
#include "step_needs.h"

namespace forge {

/// Launches of a kernel, and what the estimate says of all of them together.
struct KernelCount {
  std::uint64_t launches = 0;
  double predicted_us = 0;  ///< launches, and of each the largest of the three, times its factor
  double memory_us = 0;
  double compute_us = 0;
  double latency_us = 0;
};

/// A decode step, or all steps of a prefill.
struct ModelCount {
  ModelCase of;
  std::string not_run;  ///< as in ModelTime
  std::uint64_t launches = 0;
  std::uint64_t layer_launches = 0;  ///< of each layer, in each of the steps
  sim::KernelWork work;              ///< of all launches: bytes and operations
  StepNeeds needs;
  std::vector<KernelCount> kernels;  ///< by KernelId
  double predicted_us = 0;  ///< of launches and copies, one after the other, without the host
  bool calibrated = false;  ///< the device was measured, and all these kernels on it
};

/// Counts the cases that run with graphs and overlap.
std::vector<ModelCount> count_model(const sim::DeviceDescription& description,
                                    const BenchModel& model, const ModelSizes& sizes);

/// The rates that the description has.
BestRates rates_of(const sim::DeviceDescription& description);

nlohmann::ordered_json to_json(const BenchModel& model, const ModelCount& count,
                               const BestRates& rates);

/// A table of them, with a heading.
std::string to_text(const BenchModel& model, const sim::DeviceDescription& description,
                    const std::vector<ModelCount>& counts);

}  // namespace forge
