// KernelLaunch: one launch of a kernel as a value; and what the page of every kernel uses to say
// how it is launched and what it takes of a multiprocessor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "forge/numerics/host_device.h"
#include "forge/simt/shape.h"

namespace forge::gpu {

enum class KernelId : std::uint8_t;  // the kernels of kernels.h, in that order

/// A launch as a value: it holds a copy of the arguments. launch_of (kernels.h) makes one.
struct KernelLaunch {
  static constexpr std::size_t kArgsMax = 160;

  KernelId kernel{};
  simt::LaunchShape shape;
  /// May begin before the launch before has ended: the kernel waits itself (simt/launch_chain.h).
  bool overlaps = false;
  alignas(16) std::array<std::byte, kArgsMax> args{};
};

/// What one thread block of a kernel takes of a multiprocessor, beside its threads. Shared memory
/// is what the kernel declares, as a test checks; registers are what nvcc 13.0 takes for sm_90
/// (`nvcc -cubin -Xptxas -v`).
struct BlockResources {
  int shared_bytes = 0;
  int registers = 0;  ///< of one thread; 0 if unknown
};

FORGE_HOST_DEVICE constexpr int ceil_div(int n, int divisor) { return (n + divisor - 1) / divisor; }

/// Threads for `items` things to do: whole warps, at least one, at most `max`.
constexpr int threads_for(int items, int max) {
  const int threads = ceil_div(items, simt::kWarpSize) * simt::kWarpSize;
  return threads < max ? threads : max;
}

}  // namespace forge::gpu
