// What forge-kernel run says about a launch, as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "forge/sim/kernel_time.h"
#include "forge/simt/traffic.h"
#include "kernel_inputs.h"

namespace forge::apps {

struct KernelReport {
  const KernelEntry& kernel;
  const sim::DeviceDescription& device;
  const gpu::KernelLaunch& launch;
  KernelSizes sizes;
  std::uint64_t seed = 0;
  sim::Occupancy occupancy;
  gpu::BlockResources resources;
  sim::KernelWork work;
  sim::KernelTime time;
  simt::Traffic traffic;
  std::vector<KernelComparison> comparisons;
};

/// The places of sync_block, in the order of the source. Barrier N of --break is number N - 1.
std::vector<simt::LineMeetings> barriers_of(const simt::Traffic& traffic);

/// Whether every bit is as on the CPU.
bool is_right(const KernelReport& report);

/// Shape, occupancy, result, barriers, operations, time. At most 80 columns.
std::string summary_text(const KernelReport& report);

/// Requests line by line and bytes level by level.
std::string trace_text(const simt::Traffic& traffic);

nlohmann::ordered_json to_json(const KernelReport& report);

}  // namespace forge::apps
