// process_logits: logit row i becomes what the steps before the pick make of it
// (sampling/pipeline.h): logits of single tokens change by bias and penalties, tokens that a mask,
// top-k, top-p or min-p rule out become -inf. A row for which can_pick() is false stays one. Each
// thread block takes one row, in place.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const PassCounts* counts`,
// `const ProcessInput* inputs`, `const sampling::Adjustment* adjustments`,
// `const std::uint32_t* drafts`, `const std::uint32_t* masks` and `float* logits`:
//
//   const ProcessLogitsArgs args{.counts = counts,
//                                .inputs = inputs,
//                                .adjustments = adjustments,
//                                .drafts = drafts,
//                                .masks = masks,
//                                .logits = logits,
//                                .vocabulary = 128256};
//   return launch_of(args, args.shape(64));  // up to 64 rows with logits
#pragma once

#include "forge/gpu/kernels/kernel_launch.h"
#include "forge/gpu/kernels/step_data.h"

namespace forge::gpu {

struct ProcessLogitsArgs {
  static constexpr int kThreads = 512;
  static constexpr BlockResources kResources{.shared_bytes = 896, .registers = 63};
  const PassCounts* counts;
  const ProcessInput* inputs;  ///< [R]
  const sampling::Adjustment* adjustments;
  const std::uint32_t* drafts;
  const std::uint32_t* masks;  ///< [masks][mask_words(V)]
  float* logits;               ///< [R][V]
  int vocabulary;              ///< V

  simt::LaunchShape shape(int rows_max) const {
    return {{rows_max, 1, 1}, threads_for(vocabulary, kThreads)};
  }
};

}  // namespace forge::gpu
