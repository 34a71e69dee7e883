// copy_blocks: target[pair.to] = source[pair.from], whole blocks of KV, all at once: no pair may
// write what another reads or writes. Either pool may be pinned host memory. Blocks are bytes here,
// whatever type their numbers have.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const BlockPair* pairs`,
// `const void* pool` and `void* host_pool`:
//
//   const CopyBlocksArgs args{
//       .pairs = pairs, .source = pool, .target = host_pool, .block_bytes = 1 << 18};
//   return launch_of(args, args.shape(3));  // 3 pairs
#pragma once

#include "forge/gpu/kernels/kernel_launch.h"
#include "forge/gpu/kernels/step_data.h"

namespace forge::gpu {

struct CopyBlocksArgs {
  static constexpr int kThreads = 256;
  static constexpr int kPiecesMax = 64;  ///< thread blocks that share a pair
  static constexpr int kBytesAtOnce = 16;
  static constexpr BlockResources kResources{.registers = 32};
  const BlockPair* pairs;
  const void* source;
  void* target;
  std::uint64_t block_bytes;  ///< even

  simt::LaunchShape shape(int pair_count) const {
    constexpr std::uint64_t kBytes = kBytesAtOnce * kThreads;
    const std::uint64_t pieces = (block_bytes + kBytes - 1) / kBytes;
    return {{pair_count, pieces < kPiecesMax ? static_cast<int>(pieces) : kPiecesMax, 1}, kThreads};
  }
};

}  // namespace forge::gpu
