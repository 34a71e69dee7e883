// copy_blocks: target[pair.to] = source[pair.from], whole blocks of KV, all at once: no pair may
// write what another reads or writes. Either pool may be pinned host memory.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const BlockPair* pairs`,
// `const float* pool` and `float* host_pool`:
//
//   const CopyBlocksArgs args{
//       .pairs = pairs, .source = pool, .target = host_pool, .block_floats = 1 << 16};
//   return launch_of(args, args.shape(3));  // 3 pairs
#pragma once

#include "forge/gpu/kernels/kernel_launch.h"
#include "forge/gpu/kernels/step_data.h"

namespace forge::gpu {

struct CopyBlocksArgs {
  static constexpr int kThreads = 256;
  static constexpr int kPiecesMax = 64;  ///< thread blocks that share a pair
  static constexpr BlockResources kResources{.registers = 32};
  const BlockPair* pairs;
  const float* source;
  float* target;
  std::uint64_t block_floats;

  simt::LaunchShape shape(int pair_count) const {
    const std::uint64_t pieces = (block_floats + 4 * kThreads - 1) / (4 * kThreads);
    return {{pair_count, pieces < kPiecesMax ? static_cast<int>(pieces) : kPiecesMax, 1}, kThreads};
  }
};

}  // namespace forge::gpu
