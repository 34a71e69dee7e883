// KernelWork: what a launch must move and compute, by formula; the time estimate (kernel_time.h)
// starts from it.
//
// Bytes and operations are those of the kernel as it is written. A test holds the bytes to what the
// traced simulator counts, access by access (simt/traffic.h), so the formulas cannot drift.
#pragma once

#include <cstdint>

#include "forge/gpu/kernels.h"

namespace forge::sim {

struct KernelWork {
  std::uint64_t bytes_read = 0;  ///< by loads of global memory, each once however often it is read
  std::uint64_t bytes_written = 0;  ///< by stores to global memory
  std::uint64_t flops = 0;          ///< a fused multiply-add is two
  /// Longest chain of dependent operations of one thread: what a launch takes at least, however
  /// many threads it has.
  std::uint64_t chain_loads = 0;       ///< dependent loads of global memory
  std::uint64_t chain_operations = 0;  ///< dependent arithmetic operations
};

/// Of one launch. Reads counts and rows through the pointers in its arguments, so it works only
/// where these are the simulator's memory, and as late as the launch itself.
KernelWork work_of(const gpu::KernelLaunch& launch);

}  // namespace forge::sim
