// project_experts_wide: products of rows and the experts that they chose, many rows an expert, on
// tensor cores (expert_product.h): project_wide for tiles of up to 64 or 128 pairs of one expert,
// as many as its blocks have rows.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const ExpertPlan& plan` of 2048 rows and 8
// of 128 experts for each, `const void* gated`, `const void* weights` and `float* produced`:
//
//   const ProjectExpertsWideArgs args{
//       {.plan = plan,
//        .rows_max = 2048,
//        .tiles_max = expert_tiles_max(2048, 128, 8, ProjectWideArgs::kRowsMax),
//        .x = gated,
//        .pairs_per_row = 1,
//        .inputs = 768,
//        .outputs = 2048,
//        .type = numerics::HalfType::bf16,
//        .weights = weights,
//        .matrix_bytes = 768 * 2048 * 2,
//        .y = produced}};
//   return launch_of(args, args.shape());
#pragma once

#include "forge/gpu/kernels/expert_product.h"
#include "forge/gpu/kernels/project_wide.h"

namespace forge::gpu {

struct ProjectExpertsWideArgs {
  static constexpr bool kOverlaps = true;
  static constexpr int kThreads = ProjectWideArgs::kThreads;
  static constexpr BlockResources kResources{.shared_bytes = ProjectWideArgs::kRowsMax * 8,
                                             .registers = 255};
  ExpertProduct product;
  WideKind kind = wide_kind(product.rows_max);

  FORGE_HOST_DEVICE int tile_rows() const { return block_of(kind).rows; }

  /// The block of an expert's rows is one of project_wide.
  FORGE_HOST_DEVICE ProjectWideArgs of(std::uint32_t expert) const {
    return {product.of(expert), kind};
  }

  simt::LaunchShape shape() const {
    simt::LaunchShape shape = of(0).shape();
    shape.grid.x = product.tiles_max;
    return shape;
  }
};

}  // namespace forge::gpu
