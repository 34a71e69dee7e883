// What the formulas of kernel_work*.cc share: the arguments of a launch, and what the links of a
// chain of dependent operations cost, in latencies of a fused multiply-add.
#pragma once

#include <cstdint>
#include <cstring>

#include "forge/core/check.h"
#include "forge/gpu/kernels.h"
#include "forge/sim/kernel_work.h"

namespace forge::sim {

template <class Args>
Args args_of(const gpu::KernelLaunch& launch) {
  FORGE_CHECK(launch.kernel == Args::kId, "kernel ", name(launch.kernel), " is not ",
              name(Args::kId));
  Args args;
  std::memcpy(&args, launch.args.data(), sizeof args);
  return args;
}

KernelWork attend_decode_work(const gpu::KernelLaunch& launch);
KernelWork attend_split_work(const gpu::KernelLaunch& launch);
KernelWork attend_merge_work(const gpu::KernelLaunch& launch);
KernelWork attend_prompt_work(const gpu::KernelLaunch& launch);

namespace chain {

/// Dependent operations of what is not one operation: counted in the source of numerics/, and for
/// division and square root in what nvcc makes of the exactly rounded ones.
inline constexpr std::uint64_t kExp = 12;
inline constexpr std::uint64_t kLog = 16;
inline constexpr std::uint64_t kDivide = 10;
inline constexpr std::uint64_t kSquareRoot = 10;
inline constexpr std::uint64_t kPhilox = 40;
inline constexpr std::uint64_t kDigestStep = 8;
inline constexpr std::uint64_t kShuffle =
    6;  ///< 23 cycles against 4 (Jia et al., arXiv:1804.06826)
inline constexpr std::uint64_t kWarpSum = 5 * (kShuffle + 1);
inline constexpr std::uint64_t kBarrier = 8;
inline constexpr std::uint64_t kSharedLoad = 7;  ///< 29 cycles against 4 (arXiv:2402.13499)

/// fp32 operations of one call.
inline constexpr std::uint64_t kExpFlops = 20;
inline constexpr std::uint64_t kLogFlops = 26;

/// Turns of a loop over `count` elements that `threads` threads share.
constexpr std::uint64_t steps(std::uint64_t count, std::uint64_t threads) {
  return (count + threads - 1) / threads;
}

/// Latencies that a loop of independent loads sees: nvcc unrolls by four, so four are in flight.
constexpr std::uint64_t batches(std::uint64_t loads) { return (loads + 3) / 4; }

}  // namespace chain
}  // namespace forge::sim
