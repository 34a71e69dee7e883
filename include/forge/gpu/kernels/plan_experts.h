// plan_experts: sorts the pairs of rows and experts by expert and deals them out to tiles. There is
// one thread block, whose warps have a segment of the pairs each.
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
  static constexpr int kCounters = 8192;  ///< one for each expert in each segment
  static constexpr BlockResources kResources{.shared_bytes = (kCounters + kThreads) * 4 + 256,
                                             .registers = 40};
  const PassCounts* counts;
  const ExpertChoice* choices;  ///< [T][A]
  ExpertPlan plan;
  int experts;            ///< E, at most kThreads
  int experts_per_token;  ///< A
  int tile_rows;          ///< pairs of a tile, those that the product takes

  /// Segments of the pairs: one for each warp, as far as there are counters.
  FORGE_HOST_DEVICE int segments(int threads) const {
    const int warps = threads / simt::kWarpSize;
    const int most = kCounters / experts;
    return warps < most ? warps : most;
  }

  /// A thread for each expert, and for each pair.
  simt::LaunchShape shape(int rows_max) const {
    const int pairs = rows_max * experts_per_token;
    return {{1, 1, 1}, threads_for(pairs > experts ? pairs : experts, kThreads)};
  }
};

}  // namespace forge::gpu
