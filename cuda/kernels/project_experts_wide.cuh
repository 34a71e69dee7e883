// project_experts_wide: products of rows and the experts that they chose, on tensor cores.
//
//   grid      x: tiles of up to 64 or 128 pairs of one expert; y: tiles of outputs, as
//             project_wide. An expert's tiles are neighbours and share its weights
//   memory    as project_wide, but that rows of x and of the result are where the pairs say. Which
//             expert's weights to ask for is in the plan, which the launch before this one wrote
//             or one before that: nothing is asked for until it has ended
//   bits      numerics/tensor_product.h, as project_wide. Which pairs share a tile does not enter
#pragma once

#include "expert_rows.cuh"
#include "forge/gpu/kernels/project_experts_wide.h"
#include "project_wide.cuh"

namespace FORGE_KERNELS {
using namespace simt;

FORGE_KERNEL(gpu::ProjectExpertsWideArgs::kThreads)
project_experts_wide(gpu::ProjectExpertsWideArgs args) {
  SIMT_SHARED_DYNAMIC(std::uint16_t, ring);
  SIMT_SHARED(float, factors, gpu::ProjectWideArgs::kRowsMax);
  SIMT_SHARED(std::uint32_t, sources, gpu::ProjectWideArgs::kRowsMax);
  start_next();
  wait_for_previous();
  if (!has_tile(args.product)) return;
  const gpu::ExpertTile pairs = global(args.product.plan.tiles)[block().x];
  const gpu::ProjectWideArgs wide = args.of(pairs.expert);
  with_wide_tile(wide, ring, [&](auto tile, auto half) {
    tile.rows = static_cast<int>(pairs.count);
    const WideWeights weights = fill_first_weights(tile);
    const RowsOfTile row_of = gather_rows(args.product, pairs, tile.kTileRows, sources);
    make_wide_results<decltype(half)>(wide.product, tile, weights, row_of, factors);
  });
}

}  // namespace FORGE_KERNELS
