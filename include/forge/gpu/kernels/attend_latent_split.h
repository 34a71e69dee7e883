// attend_latent_split: the same for few rows over long contexts, split-K: a block a chunk of 256
// positions, so that one row fills the device. attend_latent_merge comes next.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const LatentAttentionInput& in` and
// `float* partial`:
//
//   const AttendLatentSplitArgs args{.in = in, .partial = partial, .chunks_max = 32};
//   return launch_of(args, args.shape(2));  // up to 2 rows, contexts up to 8192
#pragma once

#include "forge/gpu/kernels/latent_input.h"
#include "forge/numerics/attention.h"

namespace forge::gpu {

struct AttendLatentSplitArgs {
  static constexpr int kThreads = numerics::kKeyChunk;
  static constexpr BlockResources kResources{.shared_bytes = 44288, .registers = 116};
  LatentAttentionInput in;
  float* partial;  ///< [T][H][chunks_max][C + 2]: a, m, l of each chunk
  int chunks_max;  ///< of the longest context

  simt::LaunchShape shape(int rows_max) const {
    return {{chunks_max, ceil_div(in.heads, kLatentTileHeads), rows_max}, kThreads};
  }
};

}  // namespace forge::gpu
