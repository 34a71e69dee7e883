// What a device can do at best: the marks that kernels and steps are measured against.
#pragma once

#include <nlohmann/json.hpp>

#include "forge/gpu/device.h"

namespace forge {

struct DeviceLimits {
  double copy_within_gb_per_s = 0;     ///< bytes read and bytes written
  double copy_to_device_gb_per_s = 0;  ///< from pinned memory
  double copy_to_host_gb_per_s = 0;
  double launch_us = 0;        ///< of a kernel that does nothing, after another, in a stream
  double graph_launch_us = 0;  ///< the same in a graph
};
nlohmann::ordered_json to_json(const DeviceLimits& limits);

DeviceLimits measure_limits(gpu::Device& device);

}  // namespace forge
