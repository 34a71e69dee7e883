// Each kernel on the device, beside what the time estimate (sim/kernel_time.h) says of it.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cuda_limits.h"
#include "forge/gpu/device.h"
#include "forge/sim/kernel_time.h"
#include "kernel_sizes.h"

namespace forge {

/// A launch, over memory of its own.
struct KernelLaunchCase {
  const apps::KernelEntry* kernel = nullptr;
  apps::KernelSizes sizes;
};

/// Every kernel in the sizes of the larger model of cuda_steps.h, at batches of 1, 8 and 64 and for
/// chunks of prompt.
std::vector<KernelLaunchCase> kernel_launch_cases();

struct KernelMeasurement {
  KernelLaunchCase launch;
  double graph_us = 0;       ///< measured, one of many in a graph
  sim::KernelTime estimate;  ///< the same, from the description alone, without its calibration
};
/// Memory of a case is in L2, if it fits there, both when it is measured and in its estimate.
std::vector<KernelMeasurement> measure_kernels(gpu::Device& device,
                                               const sim::DeviceDescription& description);

/// What to multiply the estimates by: of each kernel, all measured time over all estimated time,
/// without the launches.
std::map<std::string, double> kernel_factors(const std::vector<KernelMeasurement>& measurements,
                                             const DeviceLimits& limits);

nlohmann::ordered_json to_json(const KernelMeasurement& measurement);

}  // namespace forge
