// project_experts_codes_narrow: products of rows and the experts that they chose, weights in codes,
// on tensor cores.
//
//   grid      x: tiles of up to 16 pairs of one expert; y, then z: panels of outputs, as
//             project_codes_narrow. An expert's tiles are neighbours and share its weights
//   memory    as project_codes_narrow, but that rows of x and of the result are where the pairs
//             say. Which expert's weights to ask for is in the plan, which the launch before this
//             one wrote or one before that: nothing is asked for until it has ended
//   bits      linear/product.h, as project_codes_narrow. Which pairs share a tile does not enter
#pragma once

#include "expert_rows.cuh"
#include "forge/gpu/kernels/project_experts_codes_narrow.h"
#include "project_codes_narrow.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// The pairs of a block, and room for what is known of each.
struct PairsOfCodes {
  gpu::ExpertTile pairs;
  sptr<std::uint32_t> sources;
  sptr<float> factors;
};

/// narrow: what the pairs' expert makes of them.
template <int kPanels>
FORGE_DEVICE void project_experts_codes_narrow_tile(const gpu::ExpertProduct& experts,
                                                    const gpu::ProjectCodesNarrowArgs& narrow,
                                                    sptr<std::uint32_t> ring,
                                                    const PairsOfCodes& of) {
  using Shape = NarrowCodes<kPanels>;
  CodeTile tile = narrow_code_tile<Shape>(narrow, ring);
  tile.rows = static_cast<int>(of.pairs.count);
  fill_first_codes<Shape>(tile);
  const RowsOfTile row_of = gather_rows(experts, of.pairs, tile.rows, of.sources);
  make_code_results<Shape>(narrow.codes.product, tile, row_of, of.factors);
}

FORGE_KERNEL(gpu::ProjectExpertsCodesNarrowArgs::kThreads, gpu::ProjectCodesNarrowArgs::kBlocks)
project_experts_codes_narrow(gpu::ProjectExpertsCodesNarrowArgs args) {
  SIMT_SHARED_DYNAMIC(std::uint32_t, ring);
  SIMT_SHARED(float, factors, gpu::ProjectExpertsCodesNarrowArgs::kTileRows);
  SIMT_SHARED(std::uint32_t, sources, gpu::ProjectExpertsCodesNarrowArgs::kTileRows);
  start_next();
  wait_for_previous();
  if (panel_of_block() >= args.of(0).codes.panels() || !has_tile(args.product)) return;
  const gpu::ExpertTile pairs = global(args.product.plan.tiles)[block().x];
  const gpu::ProjectCodesNarrowArgs narrow = args.of(pairs.expert);
  const PairsOfCodes of{pairs, sources, factors};
  if (narrow.codes.product.is_gated()) {
    project_experts_codes_narrow_tile<2>(args.product, narrow, ring, of);
  } else {
    project_experts_codes_narrow_tile<1>(args.product, narrow, ring, of);
  }
}

}  // namespace FORGE_KERNELS
