// embed: hidden [T][d] = embedding rows of the tokens, times the multiplier. A thread makes 4
// floats.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const PassCounts* counts`,
// `const RowInput* rows`, `const std::uint32_t* drafts`, `const float* embedding` and
// `float* hidden`:
//
//   const EmbedArgs args{.counts = counts,
//                        .rows = rows,
//                        .drafts = drafts,
//                        .embedding = embedding,
//                        .hidden = hidden,
//                        .hidden_size = 4096};
//   return launch_of(args, args.shape(64));  // up to 64 rows
#pragma once

#include "forge/gpu/kernels/kernel_launch.h"
#include "forge/gpu/kernels/step_data.h"
#include "forge/gpu/kernels/weight_kind.h"

namespace forge::gpu {

struct EmbedArgs {
  static constexpr int kThreads = 128;
  static constexpr BlockResources kResources{.registers = 18};
  const PassCounts* counts;
  const RowInput* rows;         ///< [T]
  const std::uint32_t* drafts;  ///< tokens that RowInput::draft refers to
  const void* embedding;        ///< [V][d] of `kind`
  float* hidden;                ///< [T][d]
  int hidden_size;              ///< d
  float multiplier = 1;
  WeightKind kind = WeightKind::f32;

  simt::LaunchShape shape(int rows_max) const {
    const int quads = ceil_div(hidden_size, 4);
    return {{rows_max, ceil_div(quads, kThreads), 1}, threads_for(quads, kThreads)};
  }
};

}  // namespace forge::gpu
