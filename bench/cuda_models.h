// How long steps of whole models take on a device, beside what it could do at best (step_needs.h).
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model_cases.h"
#include "step_needs.h"

namespace forge {

struct ModelTime {
  ModelCase of;
  gpu::GpuOptions gpu;
  gpu::LibraryReport library;  ///< of the executor that ran it
  std::string not_run;         ///< why, if it was not: "needs 88123456789 bytes, 84567890123 free"
  double step_us = 0;  ///< of whole steps, median; of a prefill all its steps, median of a few
  double host_us = 0;  ///< of them, what the host does, mean; the rest is waiting for the device
  std::map<std::string, BenchDevice::LaunchTimes>
      launches;     ///< of a step more, or of all steps of a prefill; none of decodes by graphs
  StepNeeds needs;  ///< of the step in the middle; of all steps of a prefill
};

/// Measures all cases, and tells of each when it is done. What the device has no memory for is not
/// run, and says so.
void measure_model(gpu::Device& device, const BenchModel& model, const ModelSizes& sizes,
                   const std::function<void(const ModelTime&)>& tell);

nlohmann::ordered_json to_json(const BenchModel& model, const ModelTime& time,
                               const BestRates& rates);

}  // namespace forge
