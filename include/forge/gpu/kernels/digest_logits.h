// digest_logits: digests[l.pick] = logits_digest(logits[i]) (executor/logits_digest.h). Each warp
// takes one row.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const PassCounts* counts`,
// `const LogitInput* inputs`, `const float* logits` and `std::uint64_t* digests`:
//
//   const DigestLogitsArgs args{.counts = counts,
//                               .inputs = inputs,
//                               .logits = logits,
//                               .digests = digests,
//                               .vocabulary = 128256};
//   return launch_of(args, args.shape(64));  // up to 64 rows with logits
#pragma once

#include "forge/gpu/kernels/kernel_launch.h"
#include "forge/gpu/kernels/step_data.h"

namespace forge::gpu {

struct DigestLogitsArgs {
  static constexpr int kThreads = 32;
  static constexpr BlockResources kResources{.registers = 33};
  const PassCounts* counts;
  const LogitInput* inputs;
  const float* logits;
  std::uint64_t* digests;
  int vocabulary;

  static simt::LaunchShape shape(int rows_max) { return {{rows_max, 1, 1}, kThreads}; }
};

}  // namespace forge::gpu
