// project_experts_narrow: products of rows and the experts that they chose, few rows an expert, on
// tensor cores (expert_product.h): project_narrow for tiles of up to 16 pairs of one expert. An
// expert's weights are read once for each of its tiles; further ones find them in the L2 cache.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const ExpertPlan& plan` of 4 rows and 8 of
// 128 experts for each, `const void* rows`, `const float* squares`, `const void* weights` and
// `void* gated`:
//
//   const ProjectExpertsNarrowArgs args{
//       {.plan = plan,
//        .rows_max = 4,
//        .tiles_max = expert_tiles_max(4, 128, 8, ProjectExpertsNarrowArgs::kTileRows),
//        .x = rows,
//        .pairs_per_row = 8,
//        .inputs = 2048,
//        .outputs = 2 * 768,
//        .type = numerics::HalfType::bf16,
//        .weights = weights,
//        .matrix_bytes = 2048 * 2 * 768 * 2,
//        .norm = {.squares = squares, .eps = 1e-6f},
//        .gated = {.h = gated}}};
//   return launch_of(args, args.shape());
#pragma once

#include "forge/gpu/kernels/expert_product.h"
#include "forge/gpu/kernels/project_narrow.h"

namespace forge::gpu {

struct ProjectExpertsNarrowArgs {
  static constexpr bool kOverlaps = true;
  static constexpr int kThreads = ProjectNarrowArgs::kThreads;
  static constexpr int kTileRows = ProjectNarrowArgs::kTileRows;
  static constexpr BlockResources kResources{.shared_bytes = kTileRows * 4, .registers = 128};
  ExpertProduct product;

  FORGE_HOST_DEVICE int tile_rows() const { return kTileRows; }

  /// The block of an expert's rows is one of project_narrow.
  FORGE_HOST_DEVICE ProjectNarrowArgs of(std::uint32_t expert) const {
    return {product.of(expert)};
  }

  simt::LaunchShape shape() const {
    simt::LaunchShape shape = of(0).shape();
    shape.grid.x = product.tiles_max;
    return shape;
  }
};

}  // namespace forge::gpu
