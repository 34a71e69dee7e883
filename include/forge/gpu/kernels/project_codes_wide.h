// project_codes_wide: products of many rows with weights of codes on tensor cores (code_product.h).
//
// A block has 64 rows and two panels, of 64 outputs, or of 32 gates and their 32 ups: what it reads
// of weights is multiplied 64 times. Its stages are four groups.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const PassCounts* counts`,
// `const RowGroup* coded`, `const float* squares`, `const void* panels` and `void* gated`:
//
//   const ProjectCodesWideArgs args{{.product = {.row_count = &counts->rows,
//                                                .rows_max = 2048,
//                                                .x = coded,
//                                                .weights = panels,
//                                                .inputs = 4096,
//                                                .outputs = 28672,
//                                                .type = numerics::HalfType::bf16,
//                                                .norm = {.squares = squares, .eps = 1e-5f},
//                                                .gated = {.h = gated}},
//                                    .kind = linear::PanelKind::q8_0}};
//   return launch_of(args, args.shape());
#pragma once

#include "forge/gpu/kernels/code_product.h"

namespace forge::gpu {

struct ProjectCodesWideArgs {
  static constexpr bool kOverlaps = true;
  static constexpr int kThreads = 128;
  static constexpr int kTileRows = 64;
  static constexpr int kPanels = 2;
  static constexpr int kStageGroups = 4;
  static constexpr int kStages = 4;
  static constexpr BlockResources kResources{.shared_bytes = kTileRows * 4, .registers = 168};
  CodeProduct codes;

  simt::LaunchShape shape() const {
    const int panels = codes.panels();
    const int of_weights = code_panel_bytes(codes.kind, kStageGroups) * kPanels;
    const int of_rows = kTileRows * code_row_bytes(kStageGroups);
    return {{ceil_div(codes.product.rows_max, kTileRows),
             codes.product.is_gated() ? panels : ceil_div(panels, kPanels), 1},
            kThreads,
            kStages * (of_weights + of_rows)};
  }
};

}  // namespace forge::gpu
