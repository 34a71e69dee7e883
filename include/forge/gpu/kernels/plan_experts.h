// plan_experts: sorts the pairs of rows and experts by expert and deals them out to tiles. There is
// one thread block; each thread takes one expert.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const ChooseExpertsArgs& choose` and
// `const ExpertPlan& plan`:
//
//   const PlanExpertsArgs args{.counts = choose.counts,
//                              .choices = choose.choices,
//                              .plan = plan,
//                              .experts = choose.experts,
//                              .experts_per_token = choose.experts_per_token};
//   return launch_of(args, args.shape());
#pragma once

#include "forge/gpu/kernels/expert_data.h"
#include "forge/gpu/kernels/kernel_launch.h"

namespace forge::gpu {

struct PlanExpertsArgs {
  static constexpr int kThreads = 1024;  ///< each has an expert
  static constexpr BlockResources kResources{.shared_bytes = 256, .registers = 32};
  const PassCounts* counts;
  const ExpertChoice* choices;  ///< [T][A]
  ExpertPlan plan;
  int experts;            ///< E, at most kThreads
  int experts_per_token;  ///< A

  simt::LaunchShape shape() const { return {{1, 1, 1}, threads_for(experts, kThreads)}; }
};

}  // namespace forge::gpu
