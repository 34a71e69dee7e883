// How long a launch takes on a described device: the largest of what its bytes, its operations and
// its longest chain of dependent operations need, plus the launch itself.
//
//   time = launch + factor * max(memory, compute, latency)
//   memory   the larger of: bytes, each once, over the bandwidth of device memory, or of L2 if they
//            lie there; and bytes, each once a block, over the bandwidth of L2
//   compute  operations of the busiest multiprocessor over its rate, which is that of the threads
//            that can be resident there, up to its lanes
//   latency  waves * (loads * latency + operations * latency)
//
// A wave is as many blocks as fit on all multiprocessors at once (occupancy). factor is measured
// (Calibration::kernel_factors), 1 where it has not been. After the roofline of Williams, Waterman,
// Patterson, CACM 52(4), 2009, with the latency term that small launches need.
//
// What it does not know: how much of a wave overlaps with the next, uncoalesced accesses and bank
// conflicts (simt/traffic.h counts these), integer operations, clocks below boost.
//
// Thread contract: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "forge/gpu/kernels.h"
#include "forge/gpu/matrix_library.h"
#include "forge/sim/device_description.h"
#include "forge/sim/kernel_work.h"

namespace forge::sim {

struct Occupancy {
  int blocks = 0;               ///< resident on a multiprocessor; 0: a block does not fit at all
  double fraction = 0;          ///< resident threads over the most that fit
  const char* limited_by = "";  ///< "threads", "blocks", "shared memory", "registers"
};
/// Requires: threads >= 1.
/// The most shared memory of a block.
std::uint64_t shared_bytes_of_block(const DeviceDescription& device);

Occupancy occupancy(const DeviceDescription& device, int threads, const gpu::BlockResources& block);

/// What the time of a launch depends on beside its arguments.
struct LaunchContext {
  bool in_graph = false;
  /// Bytes that are used between two uses of the same byte, such as all of a model's weights and
  /// KV. If L2 can keep them, loads and stores go to L2. Otherwise, or where the number is not
  /// known, they go to device memory.
  std::uint64_t working_set_bytes = UINT64_MAX;
};

struct KernelTime {
  double launch_us = 0;
  double memory_us = 0;
  double compute_us = 0;
  double latency_us = 0;
  double factor = 1;
  double total_us = 0;
  const char* bound_by = "";  ///< "launch", "memory", "compute", "latency": the largest
  bool calibrated = false;
};

/// Whether the device was measured, and this kernel on it.
bool is_calibrated(const DeviceDescription& device, gpu::KernelId kernel);

/// Requires: the launch's block fits on a multiprocessor; its pointers are the simulator's memory.
KernelTime estimate(const DeviceDescription& device, const gpu::KernelLaunch& launch,
                    const LaunchContext& context = {});

/// The same for work that is already known. Requires: as above.
KernelTime estimate(const DeviceDescription& device, const gpu::KernelLaunch& launch,
                    const KernelWork& work, const LaunchContext& context);

/// The time of a product by a vendor's library, of which nothing is known but what it has to move
/// and to multiply: at the rates of the device.
double product_us(const DeviceDescription& device, const gpu::LibraryShape& shape, bool in_graph);

/// The time of a copy over the link to the host.
double copy_us(const DeviceDescription& device, std::uint64_t bytes);

}  // namespace forge::sim
