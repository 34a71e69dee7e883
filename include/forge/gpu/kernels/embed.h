// embed: hidden [T][d] = embedding rows of the tokens, times the multiplier. A thread makes 4
// floats, or 32 where the embedding is codes.
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
#include "forge/linear/code_layout.h"

namespace forge::gpu {

struct EmbedArgs {
  static constexpr int kThreads = 128;
  static constexpr BlockResources kResources{.registers = 32};
  const PassCounts* counts;
  const RowInput* rows;         ///< [T]
  const std::uint32_t* drafts;  ///< tokens that RowInput::draft refers to
  const void* embedding;        ///< [V][d] of `kind`; of codes the panels, as ProjectArgs::panels
  float* hidden;                ///< [T][d]
  int hidden_size;              ///< d
  float multiplier = 1;
  linear::PanelKind kind = linear::PanelKind::f32;

  simt::LaunchShape shape(int rows_max) const {
    const int pieces = ceil_div(hidden_size, linear::has_codes(kind) ? linear::codes::kGroup : 4);
    return {{rows_max, ceil_div(pieces, kThreads), 1}, threads_for(pieces, kThreads)};
  }
};

}  // namespace forge::gpu
