// attend_merge: puts together the segments that attend_split has left, in ascending order, and the
// sinks.
//
//   grid      x: rows; y: query heads; a thread a component
//   memory    of each segment D consecutive floats a block, and two floats that all threads read
//   bits      the merge of numerics/attention.h. Each thread works out the same factors for itself:
//             cheaper than telling one another
#pragma once

#include "forge/gpu/kernels/attend_merge.h"
#include "forge/numerics/attention.h"
#include "forge/simt/dialect.h"
#include "online_softmax.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// The sum of weight * value in one component, and the softmax that it belongs to.
struct MergedSegments {
  float sum;
  OnlineSoftmax softmax;
};

/// Component d of a head, of the segments [segments][size + 2] that it has in `partial`.
FORGE_DEVICE MergedSegments merged_segments(gptr<const float> partial, int segments, int size,
                                            int d) {
  OnlineSoftmax softmax{partial[size], partial[size + 1], 0.0f, 1.0f};
  float sum = partial[d];
  for (int c = 1; c < segments; ++c) {
    partial = partial + (size + 2);
    softmax = softmax.merged(partial[size], partial[size + 1]);
    sum = softmax.merged_sum(sum, partial[d]);
  }
  return {sum, softmax};
}

FORGE_KERNEL(gpu::AttendMergeArgs::kThreads) attend_merge(gpu::AttendMergeArgs a) {
  const auto row = static_cast<std::uint32_t>(block().x);
  const gpu::PassCounts counts = global(a.in.counts)[0];
  const int D = a.in.kv.head_size;
  const int d = thread();
  if (row >= counts.decode_rows || d >= D) return;
  const gpu::RowInput input = global(a.in.rows)[row];
  const int length = static_cast<int>(input.position) + 1;
  const int first_segment = a.in.first_seen(length) / numerics::kKeySegment;

  const std::int64_t head = std::int64_t{row} * a.in.kv.heads() + block().y;
  const gptr<const float> partial =
      global(a.partial) + (head * a.segments_max + first_segment) * (D + 2);
  const int segments = gpu::ceil_div(length, numerics::kKeySegment) - first_segment;
  const MergedSegments merged = merged_segments(partial, segments, D, d);
  global(a.in.out)[head * D + d] = attended(a.in, block().y, merged.sum, merged.softmax);
}

}  // namespace FORGE_KERNELS
