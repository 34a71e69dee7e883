// sample: picks[l.pick] = pick(logits[i], l) for each logit row i (sampling/sampler.h): greedy at
// temperature 0, Gumbel above. The pick also goes to drafts[l.draft], if the row makes a draft. A
// row for which can_pick() is false gets kNoPick; its draft, which runs like any other, is token 0.
// Rows whose pick is LogitInput::kPicksNothing are left alone. Each thread block takes one row.
//
// If there are candidates, the picks are the same, and most logits are not read: at temperature 0
// none; above, those of which a candidate says that one of them could win.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const PassCounts* counts`,
// `const LogitInput* inputs`, `const float* logits`, `std::uint32_t* picks` and
// `std::uint32_t* drafts`:
//
//   const SampleArgs args{.counts = counts,
//                         .inputs = inputs,
//                         .logits = logits,
//                         .picks = picks,
//                         .drafts = drafts,
//                         .vocabulary = 128256};
//   return launch_of(args, args.shape(64));  // up to 64 rows with logits
#pragma once

#include "forge/gpu/kernels/candidates.h"
#include "forge/gpu/kernels/kernel_launch.h"
#include "forge/gpu/kernels/step_data.h"

namespace forge::gpu {

struct SampleArgs {
  static constexpr int kThreads = 1024;
  static constexpr std::uint32_t kNoPick = 0xffffffff;
  static constexpr BlockResources kResources{.shared_bytes = 512, .registers = 56};
  const PassCounts* counts;
  const LogitInput* inputs;  ///< [R]
  const float* logits;       ///< [R][V]
  std::uint32_t* picks;
  std::uint32_t* drafts;
  int vocabulary;                                   ///< V
  const sampling::BestToken* candidates = nullptr;  ///< [R][candidate_count(V)] of them, or null

  simt::LaunchShape shape(int rows_max) const {
    return {{rows_max, 1, 1}, threads_for(ceil_div(vocabulary, 4), kThreads)};
  }
};

}  // namespace forge::gpu
