// attend_decode: batched decode. Each of the rows 0 .. decode_rows - 1 attends over its whole
// context, segment after segment.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const AttentionInput& in`:
//
//   const AttendDecodeArgs args{.in = in};
//   return launch_of(args, args.shape(64));  // up to 64 rows
#pragma once

#include "forge/gpu/kernels/attention_input.h"
#include "forge/numerics/attention.h"

namespace forge::gpu {

struct AttendDecodeArgs {
  static constexpr int kThreads = numerics::kKeySegment;  ///< one for each key of the segment
  static constexpr BlockResources kResources{.shared_bytes = 10304, .registers = 80};
  AttentionInput in;

  simt::LaunchShape shape(int rows_max) const {
    return {{rows_max, head_tiles(in.kv), 1}, kThreads};
  }
};

}  // namespace forge::gpu
