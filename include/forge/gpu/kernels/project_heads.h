// project_heads: y_h = x_h W_h^T as in project, for each head h of a row with a matrix of its own.
// Latent attention puts queries in terms of latents with it, and turns sums of latents into values.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const PassCounts* counts`,
// `const float* queries`, `const float* panels` and `float* absorbed`:
//
//   const ProjectHeadsArgs args{.row_count = &counts->rows,
//                               .x = queries,
//                               .panels = panels,
//                               .matrix_bytes = 128 * 512 * sizeof(float),
//                               .y = absorbed,
//                               .heads = 16,
//                               .inputs = 128,
//                               .outputs = 512,
//                               .x_stride = 128 + 64,
//                               .y_stride = 512 + 64};
//   return launch_of(args, args.shape(64));  // up to 64 rows
#pragma once

#include <cstdint>

#include "forge/gpu/kernels/project.h"

namespace forge::gpu {

struct ProjectHeadsArgs {
  static constexpr int kThreads = ProjectArgs::kThreads;
  static constexpr BlockResources kResources{.shared_bytes = 26624, .registers = 80};
  const std::uint32_t* row_count;
  const float* x;              ///< [rows][H][x_stride], of which the first K of each head are read
  const void* panels;          ///< of head 0, as ProjectArgs::panels
  std::uint64_t matrix_bytes;  ///< from the panels of a head to those of the next
  float* y;     ///< [rows][H][y_stride], of which the first N of each head are written
  int heads;    ///< H
  int inputs;   ///< K, at least 1
  int outputs;  ///< N, at most 2^20
  int x_stride;
  int y_stride;
  linear::PanelKind kind = linear::PanelKind::f32;
  const RowGroup* coded =
      nullptr;  ///< x in 8 bits, where the weights are codes: [rows][H][ceil(K / 32)]

  simt::LaunchShape shape(int rows_max) const {
    simt::LaunchShape shape =
        ProjectArgs{.inputs = inputs, .outputs = outputs, .kind = kind}.shape(rows_max);
    shape.grid.z = heads;
    return shape;
  }
};

}  // namespace forge::gpu
