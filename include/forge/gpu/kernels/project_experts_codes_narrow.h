// project_experts_codes_narrow: products of rows and the experts that they chose with weights of
// codes, few rows an expert, on tensor cores (expert_product.h): project_codes_narrow for tiles of
// up to 16 pairs of one expert. An expert's weights are read once for each of its tiles; further
// ones find them in the L2 cache.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const ExpertPlan& plan` of 4 rows and 4 of
// 32 experts for each, `const RowGroup* coded`, `const float* squares`, `const void* panels`,
// `const float* biases` and `void* gated`:
//
//   constexpr auto kKind = linear::PanelKind::table4;
//   const ProjectExpertsCodesNarrowArgs args{
//       {.plan = plan,
//        .rows_max = 4,
//        .tiles_max = expert_tiles_max(4, 32, 4, ProjectExpertsCodesNarrowArgs::kTileRows),
//        .x = coded,
//        .pairs_per_row = 4,
//        .inputs = 2880,
//        .outputs = 2 * 2880,
//        .type = numerics::HalfType::bf16,
//        .weights = panels,
//        .matrix_bytes = 2 * 2880 / 32 * linear::codes::panel_bytes(kKind, 2880),
//        .norm = {.squares = squares, .eps = 1e-5f},
//        .bias = biases,
//        .gated = {.h = gated}},
//       kKind};
//   return launch_of(args, args.shape());
#pragma once

#include "forge/gpu/kernels/expert_product.h"
#include "forge/gpu/kernels/project_codes_narrow.h"

namespace forge::gpu {

struct ProjectExpertsCodesNarrowArgs {
  static constexpr bool kOverlaps = true;
  static constexpr int kThreads = ProjectCodesNarrowArgs::kThreads;
  static constexpr int kTileRows = ProjectCodesNarrowArgs::kTileRows;
  static constexpr BlockResources kResources{.shared_bytes = kTileRows * 8, .registers = 128};
  ExpertProduct product;
  linear::PanelKind kind;

  FORGE_HOST_DEVICE int tile_rows() const { return kTileRows; }

  /// The block of an expert's rows is one of project_codes_narrow.
  FORGE_HOST_DEVICE ProjectCodesNarrowArgs of(std::uint32_t expert) const {
    return {{product.of(expert), kind}};
  }

  simt::LaunchShape shape() const {
    simt::LaunchShape shape = of(0).shape();
    shape.grid.x = product.tiles_max;
    return shape;
  }
};

}  // namespace forge::gpu
