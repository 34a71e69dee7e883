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
FORGE_DEVICE void project_codes_narrow_tile(const gpu::TensorProduct& a, CodeTile tile, int panel,
                                            sptr<float> factors) {
  using Args = gpu::ProjectCodesNarrowArgs;
  using Shape = CodeShape<kPanels, 1, 1, Args::kStageGroups>;
  static_assert(Shape::kTileRows == Args::kTileRows);
  fill_first_codes<Shape>(tile);
  const RowsInOrder row_of{block().x * Args::kTileRows};
  tile.rows = rows_of_block(a, row_of.first, tile.stage_rows);
  if (tile.rows <= 0) return;
  make_code_results<Shape>(a, tile, row_of, panel, factors);
}

FORGE_KERNEL(gpu::ProjectCodesNarrowArgs::kThreads)
project_codes_narrow(gpu::ProjectCodesNarrowArgs args) {
  SIMT_SHARED_DYNAMIC(std::uint32_t, ring);
  SIMT_SHARED(float, factors, gpu::ProjectCodesNarrowArgs::kTileRows);
  start_next();
  const gpu::CodeProduct& codes = args.codes;
  const std::int64_t panel = panel_of_block();
  if (panel >= codes.panels()) return wait_for_previous();
  const bool gated = codes.product.is_gated();
  CodeTile tile = code_tile(codes, ring, panel, panel + codes.panels(), gated ? 2 : 1);
  tile.stage_rows = args.stage_rows();
  tile.stages = args.stages();
  const auto first = static_cast<int>(panel);
  if (gated) {
    project_codes_narrow_tile<2>(codes.product, tile, first, factors);
  } else {
    project_codes_narrow_tile<1>(codes.product, tile, first, factors);
  }
}

}  // namespace FORGE_KERNELS
