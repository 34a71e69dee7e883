// choose_experts: chooses the experts of a row and their weights from the products of the router,
// as choose_experts of model/experts.h does. Each warp takes one row.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const PassCounts* counts`,
// `const float* products` and `ExpertChoice* choices`:
//
//   const ChooseExpertsArgs args{.counts = counts,
//                                .products = products,
//                                .bias = nullptr,
//                                .choices = choices,
//                                .experts = 128,
//                                .experts_per_token = 8,
//                                .groups = 1,
//                                .groups_per_token = 1,
//                                .group_best = 1,
//                                .sigmoid = false,
//                                .normalized = true,
//                                .routed_scale = 1};
//   return launch_of(args, args.shape(64));  // up to 64 rows
#pragma once

#include "forge/gpu/kernels/expert_data.h"
#include "forge/gpu/kernels/kernel_launch.h"

namespace forge::gpu {

struct ChooseExpertsArgs {
  static constexpr bool kOverlaps = true;
  static constexpr int kThreads = 32;
  static constexpr int kExpertsMax = 1024;  ///< model::kExpertsMax
  static constexpr BlockResources kResources{.shared_bytes = 20480, .registers = 68};
  const PassCounts* counts;
  const float* products;  ///< [T][E]
  const float* bias;      ///< [E] or null: score + bias chooses, score weighs
  ExpertChoice* choices;  ///< [T][A]
  int experts;            ///< E, at most kExpertsMax, a multiple of groups
  int experts_per_token;  ///< A
  int groups;
  int groups_per_token;
  int group_best;  ///< a group's score is the sum of its 1 or 2 best
  bool sigmoid;    ///< scores are 1 / (1 + exp(-z)), not a softmax
  bool normalized;
  float routed_scale;

  static simt::LaunchShape shape(int rows_max) { return {{rows_max, 1, 1}, kThreads}; }
};

}  // namespace forge::gpu
