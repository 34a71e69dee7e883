// project_codes_wide: v = s x W^T + bias for 64 rows in a block, weights in codes, on tensor cores;
// what becomes of v is tensor_results.cuh.
//
//   grid      x: tiles of 64 rows; y: four panels of 32 outputs, or two of gates and their ups.
//             Tiles of rows run fastest: blocks that run side by side read the same weights, which
//             come from memory once. Eight warps: a warp has 32 rows and a panel, in registers 32
//             sums a thread
//   memory    a ring (code_ring.cuh) of three stages of four groups, of which two are under way
//             while one is multiplied; those of weights are asked for before the launch before has
//             ended
//   bits      linear/product.h, as project_codes_narrow. Rows that are not there repeat the first,
//             and nobody looks at their outputs
#pragma once

#include "code_results.cuh"
#include "forge/gpu/kernels/project_codes_wide.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

using WideCodes = CodeShape<gpu::ProjectCodesWideArgs::kPanels, 1, 4, 2,
                            gpu::ProjectCodesWideArgs::kThreads / kWarpSize, 0,
                            gpu::ProjectCodesWideArgs::kStageGroups>;
static_assert(WideCodes::kTileRows == gpu::ProjectCodesWideArgs::kTileRows);

/// A block's tile, but for its rows.
FORGE_DEVICE CodeTile wide_code_tile(const gpu::ProjectCodesWideArgs& args,
                                     sptr<std::uint32_t> ring) {
  using Args = gpu::ProjectCodesWideArgs;
  return code_tile<WideCodes>(args.codes, ring, block().y * args.block_panels(), Args::kTileRows,
                              Args::kStages);
}

FORGE_KERNEL(gpu::ProjectCodesWideArgs::kThreads, gpu::ProjectCodesWideArgs::kBlocks)
project_codes_wide(gpu::ProjectCodesWideArgs args) {
  SIMT_SHARED_DYNAMIC(std::uint32_t, ring);
  SIMT_SHARED(float, factors, WideCodes::kTileRows);
  start_next();
  const gpu::TensorProduct& product = args.codes.product;
  CodeTile tile = wide_code_tile(args, ring);
  fill_first_codes<WideCodes>(tile);
  const RowsInOrder row_of{block().x * WideCodes::kTileRows};
  tile.rows = rows_of_block(product, row_of.first, WideCodes::kTileRows);
  if (tile.rows <= 0) return;
  make_code_results<WideCodes>(product, tile, row_of, factors);
}

}  // namespace FORGE_KERNELS
