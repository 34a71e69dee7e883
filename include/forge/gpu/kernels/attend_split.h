// attend_split: decode of few rows (split-K). Each segment of 256 keys has a thread block of its
// own, so that one long context fills the device. Thread blocks for segments that a row does not
// have, or that its sliding window has left, return at once. attend_merge comes next.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const AttentionInput& in` and
// `float* partial`:
//
//   const AttendSplitArgs args{.in = in, .partial = partial, .segments_max = 32};
//   return launch_of(args, args.shape(2));  // up to 2 rows, contexts of up to 8192
#pragma once

#include "forge/gpu/kernels/attention_input.h"
#include "forge/numerics/attention.h"

namespace forge::gpu {

struct AttendSplitArgs {
  static constexpr int kThreads = numerics::kKeySegment;
  static constexpr BlockResources kResources{.shared_bytes = 10304, .registers = 80};
  AttentionInput in;
  float* partial;    ///< [decode rows][H][segments_max][D + 2]: a, m, l of each segment
  int segments_max;  ///< segments of the longest context

  simt::LaunchShape shape(int rows_max) const {
    return {{segments_max, head_tiles(in.kv), rows_max}, kThreads};
  }
};

}  // namespace forge::gpu
