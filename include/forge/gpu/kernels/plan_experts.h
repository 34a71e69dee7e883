// plan_experts: sorts the pairs of rows and experts by expert and deals them out to tiles. There is
// one thread block; each thread takes one expert and a segment of the pairs.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const ChooseExpertsArgs& choose` and
// `const ExpertPlan& plan`:
//
//   const PlanExpertsArgs args{.counts = choose.counts,
//                              .choices = choose.choices,
//                              .plan = plan,
//                              .experts = choose.experts,
//                              .experts_per_token = choose.experts_per_token,
//                              .tile_rows = ProjectExpertsArgs::kTileRows};
//   return launch_of(args, args.shape(64));  // up to 64 rows
#pragma once

#include "forge/gpu/kernels/expert_data.h"
#include "forge/gpu/kernels/kernel_launch.h"

namespace forge::gpu {

struct PlanExpertsArgs {
  static constexpr bool kOverlaps = true;
  static constexpr int kThreads = 1024;
  static constexpr BlockResources kResources{.shared_bytes = 4352, .registers = 32};
  const PassCounts* counts;
  const ExpertChoice* choices;  ///< [T][A]
  ExpertPlan plan;
  int experts;            ///< E, at most kThreads
  int experts_per_token;  ///< A
  int tile_rows;          ///< pairs of a tile, those that the product takes

  /// As many segments as there are threads for; a shorter one than 16 pairs is not worth a thread.
  simt::LaunchShape shape(int rows_max) const {
    constexpr int kSegmentPairs = 16;
    const int segments = ceil_div(rows_max * experts_per_token, kSegmentPairs);
    const int most = kThreads / experts;
    return {{1, 1, 1}, threads_for(experts * (segments < most ? segments : most), kThreads)};
  }
};

}  // namespace forge::gpu
