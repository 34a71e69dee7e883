// attend_merge: merges the segments of attend_split in ascending order, and each head's sink, if
// there are sinks. Each thread makes one component.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const AttendSplitArgs& split`:
//
//   const AttendMergeArgs args{
//       .in = split.in, .partial = split.partial, .segments_max = split.segments_max};
//   return launch_of(args, args.shape(2));  // as many rows as split has
#pragma once

#include "forge/gpu/kernels/attention_input.h"
#include "forge/numerics/attention.h"

namespace forge::gpu {

struct AttendMergeArgs {
  static constexpr int kThreads = numerics::kHeadSizeMax;
  static constexpr BlockResources kResources{.registers = 31};
  AttentionInput in;
  const float* partial;  ///< that of AttendSplitArgs
  int segments_max;      ///< likewise

  simt::LaunchShape shape(int rows_max) const {
    return {{rows_max, in.kv.heads(), 1}, threads_for(in.kv.head_size, kThreads)};
  }
};

}  // namespace forge::gpu
