// attend_latent_merge: merges the segments of attend_latent_split in ascending order. Each thread
// makes one component.
//
// Example, with `#include "forge/gpu/kernels.h"`, given
// `const AttendLatentSplitArgs& split`:
//
//   const AttendLatentMergeArgs args{
//       .in = split.in, .partial = split.partial, .segments_max = split.segments_max};
//   return launch_of(args, args.shape(2));  // as many rows as split has
#pragma once

#include "forge/gpu/kernels/latent_input.h"

namespace forge::gpu {

struct AttendLatentMergeArgs {
  static constexpr int kThreads = 256;
  static constexpr BlockResources kResources{.registers = 31};
  LatentAttentionInput in;
  const float* partial;  ///< that of AttendLatentSplitArgs
  int segments_max;      ///< likewise

  simt::LaunchShape shape(int rows_max) const {
    const int threads = threads_for(in.latents.latent_size, kThreads);
    return {{rows_max, in.heads, ceil_div(in.latents.latent_size, threads)}, threads};
  }
};

}  // namespace forge::gpu
