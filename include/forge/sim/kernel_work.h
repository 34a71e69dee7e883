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
  /// Bytes of global memory that the launch loads, each counted once, however often it is read.
  /// Rows of different sequences are taken to share no token and no block of KV.
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;  ///< likewise, by stores
  /// Bytes read or written, each counted once for each thread block: what L1 cannot keep from L2.
  std::uint64_t block_bytes = 0;
  std::uint64_t flops = 0;         ///< a fused multiply-add is two
  std::uint64_t matrix_flops = 0;  ///< of tensor cores, likewise; of rows and columns that are not
                                   ///< there as well
  /// The longest chain of dependent operations of one thread: the least that a launch takes,
  /// however many threads it has.
  std::uint64_t chain_loads = 0;       ///< dependent loads of global memory
  std::uint64_t chain_operations = 0;  ///< dependent arithmetic operations and meeting points
};

/// The work of one launch. Reads counts, rows and candidates through the pointers in its arguments,
/// so it works only where these are the simulator's memory, and only when the launch itself could
/// run.
KernelWork work_of(const gpu::KernelLaunch& launch);

}  // namespace forge::sim
