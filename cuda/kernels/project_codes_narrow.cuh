// project_codes_narrow: v = s x W^T + bias for up to 16 rows in a block, weights in codes, on
// tensor cores; what becomes of v is tensor_results.cuh.
//
//   grid      x: tiles of 16 rows; y, then z: panels of 32 outputs, or of 32 gates and their 32
//             ups. Four warps copy, and four multiply, 8 outputs of the panel each, or 8 gates
//             and their 8 ups
//   memory    a ring (code_ring.cuh) of stages of eight groups: panels as they lie in memory, which
//             are read once, and the rows' groups. All stages but one are under way while one is
//             multiplied; those of weights are asked for before the launch before has ended
//   bits      linear/product.h: sums of integers are exact, and an output is one chain over the
//             groups, ascending (code_chains.cuh). Rows that are not there repeat the first, and
//             nobody looks at their outputs
#pragma once

#include "code_results.cuh"
#include "forge/gpu/kernels/project_codes_narrow.h"
#include "forge/simt/dialect.h"
#include "product.cuh"

namespace FORGE_KERNELS {
using namespace simt;

template <int kPanels>
using NarrowCodes =
    CodeShape<kPanels, kPanels, 1, 1, 4, 4, gpu::ProjectCodesNarrowArgs::kStageGroups>;
static_assert(NarrowCodes<1>::kAllWarps * kWarpSize == gpu::ProjectCodesNarrowArgs::kThreads);
static_assert(NarrowCodes<1>::kTileRows == gpu::ProjectCodesNarrowArgs::kTileRows);

/// A block's tile, but for its rows.
template <class Shape>
FORGE_DEVICE CodeTile narrow_code_tile(const gpu::ProjectCodesNarrowArgs& args,
                                       sptr<std::uint32_t> ring) {
  return code_tile<Shape>(args.codes, ring, panel_of_block(), args.stage_rows(), args.stages());
}

template <int kPanels>
FORGE_DEVICE void project_codes_narrow_tile(const gpu::ProjectCodesNarrowArgs& args,
                                            sptr<std::uint32_t> ring, sptr<float> factors) {
  using Shape = NarrowCodes<kPanels>;
  const gpu::TensorProduct& a = args.codes.product;
  CodeTile tile = narrow_code_tile<Shape>(args, ring);
  fill_first_codes<Shape>(tile);
  const RowsInOrder row_of{block().x * Shape::kTileRows};
  tile.rows = rows_of_block(a, row_of.first, args.stage_rows());
  if (tile.rows <= 0) return;
  make_code_results<Shape>(a, tile, row_of, factors);
}

FORGE_KERNEL(gpu::ProjectCodesNarrowArgs::kThreads, gpu::ProjectCodesNarrowArgs::kBlocks)
project_codes_narrow(gpu::ProjectCodesNarrowArgs args) {
  SIMT_SHARED_DYNAMIC(std::uint32_t, ring);
  SIMT_SHARED(float, factors, gpu::ProjectCodesNarrowArgs::kTileRows);
  start_next();
  const gpu::CodeProduct& codes = args.codes;
  if (panel_of_block() >= codes.panels()) return wait_for_previous();
  if (codes.product.is_gated()) {
    project_codes_narrow_tile<2>(args, ring, factors);
  } else {
    project_codes_narrow_tile<1>(args, ring, factors);
  }
}

}  // namespace FORGE_KERNELS
