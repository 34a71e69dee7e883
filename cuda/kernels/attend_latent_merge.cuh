// attend_latent_merge: puts together the segments that attend_latent_split has left, in ascending
// order.
//
//   grid      x: rows; y: heads; z: pieces of C; a thread a component
//   memory    of each segment consecutive floats a block, and two floats that all threads read
//   bits      attend_merge.cuh
#pragma once

#include "attend_merge.cuh"
#include "forge/gpu/kernels/attend_latent_merge.h"

namespace FORGE_KERNELS {
using namespace simt;

FORGE_KERNEL(gpu::AttendLatentMergeArgs::kThreads)
attend_latent_merge(gpu::AttendLatentMergeArgs a) {
  const auto row = static_cast<std::uint32_t>(block().x);
  const gpu::PassCounts counts = global(a.in.counts)[0];
  const int C = a.in.latents.latent_size;
  const int d = block().z * threads() + thread();
  if (row >= counts.rows || d >= C) return;
  const gpu::RowInput input = global(a.in.rows)[row];
  const int segments = static_cast<int>(input.position) / numerics::kKeySegment + 1;

  const std::int64_t head = std::int64_t{row} * a.in.heads + block().y;
  const gptr<const float> partial = global(a.partial) + head * a.segments_max * (C + 2);
  const MergedSegments merged = merged_segments(partial, segments, C, d);
  global(a.in.out)[head * C + d] = numerics::divide(merged.sum, merged.softmax.l);
}

}  // namespace FORGE_KERNELS
