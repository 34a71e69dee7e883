// copy_blocks: copies whole blocks of KV: copy-on-write within a pool, swap between two pools.
//
//   grid      x: pairs of blocks; y: up to 64 thread blocks that share a pair
//   memory    16 bytes a thread, consecutive in a warp: 512 bytes a request. Blocks of a size that
//             is no multiple of 4 are not aligned: float by float. One of the pools may be pinned
//             host memory, which is then read or written over the link to the host
//   bits      moved, not computed
#pragma once

#include "forge/gpu/kernels/copy_blocks.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

FORGE_KERNEL(gpu::CopyBlocksArgs::kThreads) copy_blocks(gpu::CopyBlocksArgs a) {
  const gpu::BlockPair pair = global(a.pairs)[block().x];
  const auto floats = static_cast<std::int64_t>(a.block_floats);
  const gptr<const float> from = global(a.source) + pair.from * floats;
  const gptr<float> to = global(a.target) + pair.to * floats;

  const bool aligned = floats % 4 == 0;
  const std::int64_t stride = 4 * threads() * grid().y;
  std::int64_t i = 4 * (block().y * threads() + thread());
  for (; i < floats; i += stride) {
    if (aligned) {
      store4(to + i, load4(from + i));
    } else {
      for (std::int64_t n = i; n < i + 4 && n < floats; ++n) to[n] = from[n];
    }
  }
}

}  // namespace FORGE_KERNELS
