// attend_latent: attention over latents (numerics/latent_attention.h). Each row attends over its
// whole context, segment after segment. A thread block takes up to 16 heads of a row, so that a
// latent, once read, serves them all; rows of a prompt need not share it as well.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const LatentAttentionInput& in`:
//
//   const AttendLatentArgs args{in};
//   return launch_of(args, args.shape(64));  // up to 64 rows
#pragma once

#include "forge/gpu/kernels/latent_input.h"
#include "forge/numerics/attention.h"

namespace forge::gpu {

struct AttendLatentArgs {
  static constexpr int kThreads = numerics::kKeySegment;  ///< one for each position
  static constexpr BlockResources kResources{.shared_bytes = 44288, .registers = 128};
  LatentAttentionInput in;

  simt::LaunchShape shape(int rows_max) const {
    return {{rows_max, ceil_div(in.heads, kLatentTileHeads), 1}, kThreads};
  }
};

}  // namespace forge::gpu
