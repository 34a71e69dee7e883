// project_codes_wide: v = s x W^T + bias for 64 rows in a block, weights in codes, on tensor cores;
// what becomes of v is tensor_results.cuh.
//
//   grid      x: tiles of 64 rows; y: pairs of panels of 32 outputs, or of 32 gates and their 32
//             ups. Tiles of rows run fastest: blocks that run side by side read the same weights,
//             which come from memory once. Four warps: a warp has 32 rows and 16 outputs of both
//             panels, in registers 32 sums a thread
//   memory    a ring (code_ring.cuh) of four stages of four groups, of which three are under way
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

FORGE_KERNEL(gpu::ProjectCodesWideArgs::kThreads)
project_codes_wide(gpu::ProjectCodesWideArgs args) {
  using Args = gpu::ProjectCodesWideArgs;
  using Shape = CodeShape<Args::kPanels, 2, 2, Args::kStageGroups>;
  static_assert(Shape::kTileRows == Args::kTileRows);
  SIMT_SHARED_DYNAMIC(std::uint32_t, ring);
  SIMT_SHARED(float, factors, Args::kTileRows);
  start_next();
  const gpu::CodeProduct& codes = args.codes;
  const bool gated = codes.product.is_gated();
  const int panel = gated ? block().y : block().y * Args::kPanels;
  const int next = gated ? panel + codes.panels() : panel + 1;
  const int panels = gated || next < codes.panels() ? 2 : 1;
  CodeTile tile = code_tile(codes, ring, panel, next, panels);
  tile.stage_rows = Args::kTileRows;
  tile.stages = Args::kStages;
  fill_first_codes<Shape>(tile);
  const RowsInOrder row_of{block().x * Args::kTileRows};
  tile.rows = rows_of_block(codes.product, row_of.first, Args::kTileRows);
  if (tile.rows <= 0) return;
  make_code_results<Shape>(codes.product, tile, row_of, panel, factors);
}

}  // namespace FORGE_KERNELS
