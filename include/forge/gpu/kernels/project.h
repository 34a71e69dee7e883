// project: y = m (x W^T + bias), or y += that, or y = soft_cap(that): each product is that of
// linear/product.h (multiply_reference), in canonical numerics. A thread block computes one panel,
// an output in each lane, for kTileRows rows; its warps deal out the segments of K among
// themselves, or its groups of 32 where weights are codes, whose x comes from code_rows.
//
// Panels are those of a section of linear::LinearWeights, whose outputs may be part of a row of y.
//
// What the CPU does to a product in further passes is done to it here while it is in a register, in
// the same order: the bias is added (numerics::add), the residual stream takes m times the sum
// (numerics::add_scaled), logits are multiplied by 1 / divisor (numerics::scale) and capped
// (numerics::soft_cap).
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const PassCounts* counts`,
// `const float* normed`, `const float* panels` and `float* logits`:
//
//   const ProjectArgs args{.row_count = &counts->logit_rows,
//                          .x = normed,
//                          .panels = panels,
//                          .y = logits,
//                          .inputs = 4096,
//                          .outputs = 128256,
//                          .accumulate = false};
//   return launch_of(args, args.shape(64));  // up to 64 rows with logits
#pragma once

#include "forge/gpu/kernels/code_rows.h"
#include "forge/gpu/kernels/kernel_launch.h"
#include "forge/linear/panels.h"
#include "forge/numerics/canonical.h"

namespace forge::gpu {

struct ProjectArgs {
  static constexpr int kThreads = 256;
  static constexpr int kTileRows = 8;
  static constexpr BlockResources kResources{.shared_bytes = 26624, .registers = 80};
  const std::uint32_t* row_count;  ///< rows of x: &counts->rows or &counts->logit_rows
  const float* x;                  ///< [rows][K], where the weights are floats
  const void* panels;           ///< [ceil(N / 32)] panels of `kind`: [K][32], [K / 2][32][2], ...
  float* y;                     ///< [rows][y_stride], of which [N] are written
  int inputs;                   ///< K, at least 1
  int outputs;                  ///< N
  bool accumulate;              ///< add to y, which is a residual stream
  const float* bias = nullptr;  ///< [N] or null
  float multiplier = 1;         ///< m
  int y_stride = 0;             ///< floats from a row of y to the next; 0: N
  linear::PanelKind kind = linear::PanelKind::f32;
  const RowGroup* coded = nullptr;  ///< x in 8 bits, of codes: [rows][ceil(K / 32)]
  float cap = 0;                    ///< soft cap of y, which is not accumulated; 0: none

  simt::LaunchShape shape(int rows_max) const {
    constexpr int kPanelsY = 1 << 15;  // along y, which ends at 65535; further panels along z
    const int segment = linear::has_codes(kind) ? linear::codes::kGroup : numerics::kProductSegment;
    const int segments = ceil_div(inputs, segment);
    const int blocks = ceil_div(outputs, linear::kPanelOutputs);  // for each tile of rows
    return {{ceil_div(rows_max, kTileRows), blocks < kPanelsY ? blocks : kPanelsY,
             ceil_div(blocks, kPanelsY)},
            threads_for(segments * simt::kWarpSize, kThreads)};
  }
};

}  // namespace forge::gpu
