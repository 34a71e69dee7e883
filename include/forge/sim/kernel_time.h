// How long a launch takes on a described device: the largest of what its bytes, its operations and
// its longest chain of dependent operations need, plus the launch itself.
//
//   time = launch + max( bytes / bandwidth,  flops / rate of the multiprocessors that have work,
//                        waves * (loads * latency + operations * latency) )
//
// A wave is as many blocks as fit on all multiprocessors at once (occupancy). After the roofline of
// Williams, Waterman, Patterson, CACM 52(4), 2009, with the latency term that small launches need.
#pragma once

#include "forge/gpu/kernels.h"
#include "forge/sim/device_description.h"
#include "forge/sim/kernel_work.h"

namespace forge::sim {

/// What one block of a kernel takes of a multiprocessor, beside its threads.
struct BlockResources {
  int shared_bytes = 0;
  int registers = 0;  ///< a thread; 0 if unknown
};

struct Occupancy {
  int blocks = 0;          ///< resident on a multiprocessor
  double fraction = 0;     ///< of its threads
  std::string limited_by;  ///< "threads", "blocks", "shared memory", "registers"
};
Occupancy occupancy(const DeviceDescription& device, int threads, const BlockResources& block);

struct KernelTime {
  double launch_us = 0;
  double memory_us = 0;
  double compute_us = 0;
  double latency_us = 0;
  double total_us = 0;
  const char* bound_by = "";  ///< "launch", "memory", "compute", "latency"
};

/// `bytes_dram` of the launch's bytes come from or go to device memory, the rest stays in L2.
KernelTime estimate(const DeviceDescription& device, const gpu::KernelLaunch& launch,
                    bool in_graph);

/// A copy over the link to the host.
double copy_us(const DeviceDescription& device, std::uint64_t bytes);

}  // namespace forge::sim
