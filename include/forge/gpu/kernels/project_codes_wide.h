// project_codes_wide: products of many rows with weights of codes on tensor cores (code_product.h).
//
// A block has 64 rows and four panels, of 128 outputs, or of 64 gates and their 64 ups: what it
// reads of weights is multiplied 64 times, and rows 128 times. Its stages are four groups.
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
  static constexpr int kThreads = 256;
  static constexpr int kBlocks = 2;  ///< that are to fit on a multiprocessor
  static constexpr int kTileRows = 64;
  static constexpr int kPanels = 4;
  static constexpr int kStageGroups = 4;
  static constexpr int kStages = 3;
  static constexpr BlockResources kResources{.shared_bytes = kTileRows * 4, .registers = 128};
  CodeProduct codes;

  /// Panels of a block, or of its gates.
  FORGE_HOST_DEVICE int block_panels() const {
    return codes.product.is_gated() ? kPanels / 2 : kPanels;
  }

  simt::LaunchShape shape() const {
    const int of_weights = code_panel_bytes(codes.kind, kStageGroups) * kPanels;
    const int of_rows = kTileRows * code_row_bytes(kStageGroups);
    return {
        {ceil_div(codes.product.rows_max, kTileRows), ceil_div(codes.panels(), block_panels()), 1},
        kThreads,
        kStages * (of_weights + of_rows)};
  }
};

}  // namespace forge::gpu
