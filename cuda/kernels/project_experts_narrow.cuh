// project_experts_narrow: products of rows and the experts that they chose, on tensor cores.
//
//   grid      x: tiles of up to 16 pairs of one expert; y, then z: tiles of outputs, as
//             project_narrow. An expert's tiles are neighbours and share its weights
//   memory    as project_narrow, but that rows of x and of the result are where the pairs say.
//             Which expert's weights to ask for is in the plan, which the launch before this one
//             wrote or one before that: nothing is asked for until it has ended
//   bits      numerics/tensor_product.h, as project_narrow. Which pairs share a tile does not enter
#pragma once

#include "expert_rows.cuh"
#include "forge/gpu/kernels/project_experts_narrow.h"
#include "project_narrow.cuh"

namespace FORGE_KERNELS {
using namespace simt;

FORGE_KERNEL(gpu::ProjectExpertsNarrowArgs::kThreads)
project_experts_narrow(gpu::ProjectExpertsNarrowArgs args) {
  SIMT_SHARED_DYNAMIC(std::uint16_t, ring);
  SIMT_SHARED(std::uint32_t, sources, gpu::ProjectExpertsNarrowArgs::kTileRows);
  wait_for_previous();
  if (!has_tile(args.product)) return;
  const gpu::ExpertTile pairs = global(args.product.plan.tiles)[block().x];
  const gpu::ProjectNarrowArgs narrow = args.of(pairs.expert);
  if (first_output_tile() >= narrow.output_tiles()) return;
  with_narrow_tile(narrow, ring, [&](auto half, auto tile) {
    tile.rows = static_cast<int>(pairs.count);
    WeightCopies weights(tile);
    fill_ring(tile, weights);
    const RowsOfTile row_of = gather_rows(args.product, pairs, tile.rows, sources);
    make_narrow_results<decltype(half)>(narrow.product, tile, row_of, weights);
  });
}

}  // namespace FORGE_KERNELS
