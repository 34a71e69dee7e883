// copy_blocks: copies whole blocks of KV: copy-on-write within a pool, swap between two pools.
//
//   grid      x: pairs of blocks; y: up to 64 thread blocks that share a pair
//   memory    16 bytes a thread, consecutive in a warp: 512 bytes a request. Blocks of a size that
//             is no multiple of 16 are not aligned: two bytes at a time. One of the pools may be
//             pinned host memory, which is then read or written over the link to the host
//   bits      moved, not computed
#pragma once

#include "forge/gpu/kernels/copy_blocks.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

FORGE_KERNEL(gpu::CopyBlocksArgs::kThreads) copy_blocks(gpu::CopyBlocksArgs a) {
  const gpu::BlockPair pair = global(a.pairs)[block().x];
  const auto bytes = static_cast<std::int64_t>(a.block_bytes);
  const std::int64_t stride = std::int64_t{threads()} * grid().y;
  const std::int64_t first = block().y * threads() + thread();
  if (bytes % gpu::CopyBlocksArgs::kBytesAtOnce == 0) {
    const std::int64_t floats = bytes / static_cast<std::int64_t>(sizeof(float));
    const gptr<const float> from = global(static_cast<const float*>(a.source)) + pair.from * floats;
    const gptr<float> to = global(static_cast<float*>(a.target)) + pair.to * floats;
    for (std::int64_t i = 4 * first; i < floats; i += 4 * stride) store4(to + i, load4(from + i));
    return;
  }
  using Half = std::uint16_t;
  const std::int64_t halves = bytes / static_cast<std::int64_t>(sizeof(Half));
  const gptr<const Half> from = global(static_cast<const Half*>(a.source)) + pair.from * halves;
  const gptr<Half> to = global(static_cast<Half*>(a.target)) + pair.to * halves;
  for (std::int64_t i = first; i < halves; i += stride) to[i] = from[i];
}

}  // namespace FORGE_KERNELS
