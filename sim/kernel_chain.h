// What the formulas of kernel_work*.cc share: their declarations, how much of a launch has work,
// and what the links of a chain of dependent operations cost.
#pragma once

#include <algorithm>
#include <cstdint>

#include "forge/gpu/kernels.h"
#include "forge/linear/linear_weights.h"
#include "forge/numerics/attention.h"
#include "forge/sim/kernel_work.h"

namespace forge::sim {

/// The formula of each kernel, for a launch with these arguments. The counts of the pass, which
/// each block of a kernel that has them begins with, are left out: work_of() adds them.
#define FORGE_ENTRY(name, Args) \
  KernelWork work(const gpu::Args& args, const gpu::KernelLaunch& launch);
FORGE_FOR_EACH_KERNEL(FORGE_ENTRY)
#undef FORGE_ENTRY

/// Bytes of a panel that products read, which is not all of every kind's.
std::uint64_t panel_bytes_read(int inputs, linear::PanelKind kind);

/// Bytes of a row of x that products with such weights read.
std::uint64_t row_bytes(int inputs, linear::PanelKind kind);

/// The chain of a block that multiplies `rows` rows, or a tile of them, by a panel.
void add_product_chain(KernelWork& w, std::uint64_t rows, int inputs, linear::PanelKind kind,
                       std::uint64_t threads);

/// The chain of a thread that merges that many segments of attention.
void add_merge_chain(KernelWork& w, std::uint64_t segments);

inline std::uint64_t blocks_of(const gpu::KernelLaunch& launch) {
  return static_cast<std::uint64_t>(launch.shape.blocks());
}
inline std::uint64_t threads_of(const gpu::KernelLaunch& launch) {
  return static_cast<std::uint64_t>(launch.shape.threads);
}
/// A count that is never negative, such as a dimension of the grid.
inline std::uint64_t size_of(int count) { return static_cast<std::uint64_t>(count); }

/// How many of `launched` things a launch really does: no more than the `count` that there are.
inline std::uint64_t present(int launched, std::uint32_t count) {
  return std::min<std::uint64_t>(size_of(launched), count);
}

inline constexpr std::uint64_t kFloat = sizeof(float);
inline constexpr std::uint64_t kWord = sizeof(std::uint32_t);
inline constexpr std::uint64_t kRow = sizeof(gpu::RowInput);
inline constexpr std::uint64_t kSegment = numerics::kKeySegment;

/// Lengths in latencies of a fused multiply-add, which takes 4 cycles. Operations of numerics/ are
/// counted in its source, divisions and roots in what nvcc makes of the exactly rounded ones.
namespace chain {

inline constexpr std::uint64_t kExp = 12;
inline constexpr std::uint64_t kLog = 16;
inline constexpr std::uint64_t kDivide = 10;
inline constexpr std::uint64_t kSquareRoot = 10;
inline constexpr std::uint64_t kSoftCap = 2 * kDivide + kExp + 6;
inline constexpr std::uint64_t kPhilox = 40;
inline constexpr std::uint64_t kDigestStep = 8;
inline constexpr std::uint64_t kShuffle = 6;  ///< 23 cycles (Jia et al., arXiv:1804.06826)
inline constexpr std::uint64_t kWarpTree = 5 * (kShuffle + 1);
inline constexpr std::uint64_t kBarrier = 8;
inline constexpr std::uint64_t kSharedLoad = 7;  ///< 29 cycles (Luo et al., arXiv:2402.13499)

/// fp32 operations of one call.
inline constexpr std::uint64_t kExpFlops = 20;
inline constexpr std::uint64_t kLogFlops = 26;
inline constexpr std::uint64_t kSoftCapFlops = kExpFlops + 20;  // 8 of them are fused

/// Turns of a loop in which `workers` share `count` things.
constexpr std::uint64_t turns(std::uint64_t count, std::uint64_t workers) {
  return (count + workers - 1) / workers;
}

/// The length of `parallel` chains of `length` operations each, in one thread. A warp issues one
/// operation a cycle, so up to 4 chains of operations that take 4 cycles cost no more than one.
constexpr std::uint64_t side_by_side(std::uint64_t length, std::uint64_t parallel) {
  return length * std::max<std::uint64_t>(parallel, 4) / 4;
}

}  // namespace chain
}  // namespace forge::sim
