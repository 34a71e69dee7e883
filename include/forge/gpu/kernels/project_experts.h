// project_experts: y = x W^T + bias as in project, for pairs of a row and an expert: the row is
// multiplied by the matrix of the expert. A thread block multiplies a tile of up to 8 pairs of one
// expert by one panel.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const ExpertPlan& plan`, `const float* x`,
// `const float* panels` and `float* gate_up`:
//
//   const ProjectExpertsArgs args{.plan = plan,
//                                 .x = x,
//                                 .panels = panels,
//                                 .matrix_bytes = 2048 * 1536 * sizeof(float),
//                                 .y = gate_up,
//                                 .inputs = 2048,
//                                 .outputs = 2 * 768,
//                                 .pairs_per_row = 8};
//   constexpr int kTileRows = ProjectExpertsArgs::kTileRows;
//   return launch_of(args, args.shape(expert_tiles_max(64, 128, 8, kTileRows)));  // up to 64 rows
#pragma once

#include "forge/gpu/kernels/expert_data.h"
#include "forge/gpu/kernels/project.h"

namespace forge::gpu {

struct ProjectExpertsArgs {
  static constexpr int kThreads = ProjectArgs::kThreads;
  static constexpr int kTileRows = ProjectArgs::kTileRows;
  static constexpr BlockResources kResources{.shared_bytes = 26624, .registers = 80};
  ExpertPlan plan;
  const float* x;              ///< [rows][K]: the row of pair n is n / pairs_per_row
  const void* panels;          ///< of expert 0, as ProjectArgs::panels
  std::uint64_t matrix_bytes;  ///< from the panels of an expert to those of the next
  float* y;                    ///< [T A][y_stride], a row for each pair, of which [N] are written
  int inputs;                  ///< K, at least 1
  int outputs;                 ///< N
  int y_stride = 0;            ///< floats from a row of y to the next; 0: N
  int pairs_per_row;           ///< A if x are the rows of the pass, 1 if they are those of pairs
  linear::PanelKind kind = linear::PanelKind::f32;
  const RowGroup* coded = nullptr;  ///< x in 8 bits, of codes: [rows][ceil(K / 32)]
  const float* bias = nullptr;      ///< [E][y_stride], as y, or null

  simt::LaunchShape shape(int tiles_max) const {
    simt::LaunchShape shape =
        ProjectArgs{.inputs = inputs, .outputs = outputs, .kind = kind}.shape(1);
    shape.grid.x = tiles_max;
    return shape;
  }
};

}  // namespace forge::gpu
