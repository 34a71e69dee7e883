// project_experts_codes_wide: products of rows and the experts that they chose with weights of
// codes, many rows an expert, on tensor cores (expert_product.h): project_codes_wide for tiles of
// up to 64 pairs of one expert.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const ExpertPlan& plan` of 2048 rows and 4
// of 32 experts for each, `const RowGroup* coded` of the rows of pairs, `const void* panels` and
// `float* produced`:
//
//   constexpr auto kKind = linear::PanelKind::table4;
//   const ProjectExpertsCodesWideArgs args{
//       {.plan = plan,
//        .rows_max = 2048,
//        .tiles_max = expert_tiles_max(2048, 32, 4, ProjectExpertsCodesWideArgs::kTileRows),
//        .x = coded,
//        .pairs_per_row = 1,
//        .inputs = 2880,
//        .outputs = 2880,
//        .type = numerics::HalfType::bf16,
//        .weights = panels,
//        .matrix_bytes = 2880 / 32 * linear::codes::panel_bytes(kKind, 2880),
//        .y = produced},
//       kKind};
//   return launch_of(args, args.shape());
#pragma once

#include "forge/gpu/kernels/expert_product.h"
#include "forge/gpu/kernels/project_codes_wide.h"

namespace forge::gpu {

struct ProjectExpertsCodesWideArgs {
  static constexpr bool kOverlaps = true;
  static constexpr int kThreads = ProjectCodesWideArgs::kThreads;
  static constexpr int kTileRows = ProjectCodesWideArgs::kTileRows;
  static constexpr BlockResources kResources{.shared_bytes = kTileRows * 8, .registers = 128};
  ExpertProduct product;
  linear::PanelKind kind;

  FORGE_HOST_DEVICE int tile_rows() const { return kTileRows; }

  /// The block of an expert's rows is one of project_codes_wide.
  FORGE_HOST_DEVICE ProjectCodesWideArgs of(std::uint32_t expert) const {
    return {{product.of(expert), kind}};
  }

  simt::LaunchShape shape() const {
    simt::LaunchShape shape = of(0).shape();
    shape.grid.x = product.tiles_max;
    return shape;
  }
};

}  // namespace forge::gpu
