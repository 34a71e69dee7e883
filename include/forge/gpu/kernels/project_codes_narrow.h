// project_codes_narrow: products of few rows with weights of codes on tensor cores
// (code_product.h).
//
// A block has a panel of 32 outputs, or one of gates and that of their ups, and up to 16 rows. Its
// stages are eight groups, of which more than 32 KB are under way: enough to keep memory busy with
// one block on a multiprocessor. Half of its warps only copy: what there is to do for a copy then
// does not hold up those that multiply, of which a multiprocessor has few.
//
// Weights are asked for before the launch before this one has ended: they do not depend on it. Yet
// launches do not overlap. Blocks that begin early take what places are left, many on the same
// multiprocessor; on an H200 the products of a layer took as long with it, or up to 10% longer.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const PassCounts* counts`,
// `const RowGroup* coded`, `const float* squares`, `const void* panels` and `float* logits`:
//
//   const ProjectCodesNarrowArgs args{{.product = {.row_count = &counts->logit_rows,
//                                                  .rows_max = 8,
//                                                  .x = coded,
//                                                  .weights = panels,
//                                                  .inputs = 4096,
//                                                  .outputs = 128256,
//                                                  .type = numerics::HalfType::bf16,
//                                                  .norm = {.squares = squares, .eps = 1e-5f},
//                                                  .y = logits},
//                                      .kind = linear::PanelKind::q4_k}};
//   return launch_of(args, args.shape());
#pragma once

#include "forge/gpu/kernels/code_product.h"

namespace forge::gpu {

struct ProjectCodesNarrowArgs {
  static constexpr bool kOverlaps = false;
  static constexpr int kThreads = 256;
  static constexpr int kBlocks = 2;  ///< that are to fit on a multiprocessor
  static constexpr int kTileRows = 16;
  static constexpr int kStageGroups = 8;
  static constexpr BlockResources kResources{.shared_bytes = kTileRows * 4, .registers = 128};
  CodeProduct codes;

  /// Of the weights of a block, in a stage.
  FORGE_HOST_DEVICE int stage_bytes() const {
    return code_panel_bytes(codes.kind, kStageGroups) * (codes.product.is_gated() ? 2 : 1);
  }

  /// Stages of the ring, so that all but one are more than 32 KB of weights. Kinds of two and three
  /// bits have fewer bytes under way.
  FORGE_HOST_DEVICE int stages() const {
    constexpr int kUnderWay = 33 << 10;
    const int needed = ceil_div(kUnderWay, stage_bytes()) + 1;
    return needed < kCodeStagesMax ? needed : kCodeStagesMax;
  }

  /// Rows of x in a stage, which has no room for rows that are never there.
  FORGE_HOST_DEVICE int stage_rows() const {
    return codes.product.rows_max < kTileRows ? codes.product.rows_max : kTileRows;
  }

  simt::LaunchShape shape() const {
    constexpr int kPanelsY = 1 << 15;  // along y, which ends at 65535; further panels along z
    const int panels = codes.panels();
    const int of_rows = stage_rows() * code_row_bytes(kStageGroups);
    return {{ceil_div(codes.product.rows_max, kTileRows), panels < kPanelsY ? panels : kPanelsY,
             ceil_div(panels, kPanelsY)},
            kThreads,
            stages() * (stage_bytes() + of_rows)};
  }
};

}  // namespace forge::gpu
