// project_experts_codes_wide: products of rows and the experts that they chose, weights in codes,
// on tensor cores.
//
//   grid      x: tiles of up to 64 pairs of one expert; y: panels, as project_codes_wide.
//             An expert's tiles are neighbours and share its weights
//   memory    as project_codes_wide, but that rows of x and of the result are where the pairs say.
//             Which expert's weights to ask for is in the plan, which the launch before this one
//             wrote or one before that: nothing is asked for until it has ended
//   bits      linear/product.h, as project_codes_wide. Which pairs share a tile does not enter
#pragma once

#include "expert_rows.cuh"
#include "forge/gpu/kernels/project_experts_codes_wide.h"
#include "project_codes_wide.cuh"

namespace FORGE_KERNELS {
using namespace simt;

FORGE_KERNEL(gpu::ProjectExpertsCodesWideArgs::kThreads, gpu::ProjectCodesWideArgs::kBlocks)
project_experts_codes_wide(gpu::ProjectExpertsCodesWideArgs args) {
  SIMT_SHARED_DYNAMIC(std::uint32_t, ring);
  SIMT_SHARED(float, factors, WideCodes::kTileRows);
  SIMT_SHARED(std::uint32_t, sources, WideCodes::kTileRows);
  start_next();
  wait_for_previous();
  if (!has_tile(args.product)) return;
  const gpu::ExpertTile pairs = global(args.product.plan.tiles)[block().x];
  const gpu::ProjectCodesWideArgs wide = args.of(pairs.expert);
  CodeTile tile = wide_code_tile(wide, ring);
  tile.rows = static_cast<int>(pairs.count);
  fill_first_codes<WideCodes>(tile);
  const RowsOfTile row_of = gather_rows(args.product, pairs, tile.rows, sources);
  make_code_results<WideCodes>(wide.codes.product, tile, row_of, factors);
}

}  // namespace FORGE_KERNELS
