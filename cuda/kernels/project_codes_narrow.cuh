// project_codes_narrow: v = s x W^T + bias for up to 16 rows in a block, weights in codes, on
// tensor cores; what becomes of v is tensor_results.cuh.
//
//   grid      x: tiles of 16 rows; y, then z: panels of 32 outputs, or of 32 gates and their 32
//             ups. Four warps, 8 outputs of the panel each, or 8 gates and their 8 ups
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
using NarrowCodes = CodeShape<kPanels, 1, 1, gpu::ProjectCodesNarrowArgs::kStageGroups>;
static_assert(NarrowCodes<1>::kTileRows == gpu::ProjectCodesNarrowArgs::kTileRows);

/// A block's tile, but for its rows.
FORGE_DEVICE CodeTile narrow_code_tile(const gpu::ProjectCodesNarrowArgs& args,
                                       sptr<std::uint32_t> ring, std::int64_t panel) {
  const gpu::CodeProduct& codes = args.codes;
  const int panels = codes.product.is_gated() ? 2 : 1;
  CodeTile tile = code_tile(codes, ring, panel, panel + codes.panels(), panels);
  tile.stage_rows = args.stage_rows();
  tile.stages = args.stages();
  return tile;
}

template <int kPanels>
FORGE_DEVICE void project_codes_narrow_tile(const gpu::TensorProduct& a, CodeTile tile,
                                            sptr<float> factors) {
  using Shape = NarrowCodes<kPanels>;
  fill_first_codes<Shape>(tile);
  const RowsInOrder row_of{block().x * Shape::kTileRows};
  tile.rows = rows_of_block(a, row_of.first, tile.stage_rows);
  if (tile.rows <= 0) return;
  make_code_results<Shape>(a, tile, row_of, factors);
}

FORGE_KERNEL(gpu::ProjectCodesNarrowArgs::kThreads)
project_codes_narrow(gpu::ProjectCodesNarrowArgs args) {
  SIMT_SHARED_DYNAMIC(std::uint32_t, ring);
  SIMT_SHARED(float, factors, gpu::ProjectCodesNarrowArgs::kTileRows);
  start_next();
  const gpu::CodeProduct& codes = args.codes;
  const std::int64_t panel = panel_of_block();
  if (panel >= codes.panels()) return wait_for_previous();
  const CodeTile tile = narrow_code_tile(args, ring, panel);
  if (codes.product.is_gated()) {
    project_codes_narrow_tile<2>(codes.product, tile, factors);
  } else {
    project_codes_narrow_tile<1>(codes.product, tile, factors);
  }
}

}  // namespace FORGE_KERNELS
