// attend_latent_split: attend_latent for few rows over long contexts (split-K). Each segment of 256
// positions has a thread block of its own, so that one row fills the device. attend_latent_merge
// comes next.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const LatentAttentionInput& in` and
// `float* partial`:
//
//   const AttendLatentSplitArgs args{.in = in, .partial = partial, .segments_max = 32};
//   return launch_of(args, args.shape(2));  // up to 2 rows, contexts up to 8192
#pragma once

#include "forge/gpu/kernels/latent_input.h"
#include "forge/numerics/attention.h"

namespace forge::gpu {

struct AttendLatentSplitArgs {
  static constexpr int kThreads = numerics::kKeySegment;
  static constexpr BlockResources kResources{.shared_bytes = 44288, .registers = 128};
  LatentAttentionInput in;
  float* partial;    ///< [T][H][segments_max][C + 2]: a, m, l of each segment
  int segments_max;  ///< segments of the longest context

  simt::LaunchShape shape(int rows_max) const {
    return {{segments_max, ceil_div(in.heads, kLatentTileHeads), rows_max}, kThreads};
  }
};

}  // namespace forge::gpu
