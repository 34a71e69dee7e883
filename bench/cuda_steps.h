// How long decode steps take through the whole executor, with graphs and without.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "forge/gpu/device.h"
#include "forge/reference/tiny_config.h"

namespace forge {

/// Decode steps of `batch` sequences that have `context` tokens each at the start.
struct StepCase {
  const char* model_name = "";
  reference::TinyConfig model;
  std::uint32_t batch = 1;
  std::uint32_t context = 128;
  bool graphs = true;
};

/// The model that forge-bench runs, and one whose weights no cache holds, at batches of 1, 8
/// and 64.
std::vector<StepCase> step_cases();

struct StepTime {
  double step_us = 0;  ///< of execute(), by the host's clock, median
  double host_us = 0;  ///< of it, what the host does, mean; the rest is waiting for the device
};
StepTime measure_steps(gpu::Device& device, const StepCase& step, int steps);

nlohmann::ordered_json to_json(const StepCase& step, const StepTime& time);

}  // namespace forge
