// copy_blocks: copies whole blocks of KV: copy-on-write within a pool, swap between two pools.
//
//   grid      x: pairs of blocks; y: up to 64 thread blocks that share a pair
//   memory    16 bytes a thread, consecutive in a warp: 512 bytes a request. One of the pools may
//             be pinned host memory, which is then read or written over the link to the host
//   bits      moved, not computed
#pragma once

#include "forge/gpu/kernels.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

FORGE_KERNEL(gpu::CopyBlocksArgs::kThreads) copy_blocks(gpu::CopyBlocksArgs a) {
  const gpu::BlockPair pair = global(a.pairs)[block().x];
  const gptr<const float> from = global(a.source) + pair.from * a.block_floats;
  const gptr<float> to = global(a.target) + pair.to * a.block_floats;

  const auto stride = static_cast<std::uint64_t>(4 * threads() * grid().y);
  auto i = static_cast<std::uint64_t>(4 * (block().y * threads() + thread()));
  for (; i < a.block_floats; i += stride) store4(to + i, load4(from + i));
}

}  // namespace FORGE_KERNELS
