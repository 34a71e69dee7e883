// The rows of a tile of pairs (expert_data.h) for the products of experts on tensor cores: gathered
// from where x has them, and written where the pairs say.
#pragma once

#include "forge/gpu/kernels/expert_product.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

/// As RowsInOrder (tensor_results.cuh). Rows of x are asked for at every stage of a ring, and their
/// numbers are in shared memory; pairs are wanted once.
struct RowsOfTile {
  sptr<const std::uint32_t> sources;
  gptr<const std::uint32_t> pairs;

  FORGE_DEVICE std::int64_t source(int r) const {
    const std::uint32_t row = sources[r];
    return row;
  }
  FORGE_DEVICE std::int64_t result(int r) const {
    const std::uint32_t pair = pairs[r];
    return pair;
  }
};

/// Whether the block has a tile.
FORGE_DEVICE bool has_tile(const gpu::ExpertProduct& a) {
  const std::uint32_t tiles = global(a.plan.tiles_count)[0];
  return static_cast<std::uint32_t>(block().x) < tiles;
}

/// The rows of a tile. sources: room for `size` of them; those that the tile lacks are row 0.
FORGE_DEVICE RowsOfTile gather_rows(const gpu::ExpertProduct& a, const gpu::ExpertTile& tile,
                                    int size, sptr<std::uint32_t> sources) {
  const gptr<const std::uint32_t> pairs = global(a.plan.pairs) + tile.first;
  for (int r = thread(); r < size; r += threads()) {
    std::uint32_t pair = 0;
    if (r < static_cast<int>(tile.count)) pair = pairs[r];
    sources[r] = pair / static_cast<std::uint32_t>(a.pairs_per_row);
  }
  sync_block();
  return {sources, pairs};
}

}  // namespace FORGE_KERNELS
