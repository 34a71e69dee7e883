// What all products of rows and a panel of weights share: what a block multiplies, and its shared
// memory.
#pragma once

#include "forge/gpu/kernels/project.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

inline constexpr int kProjectWarps = gpu::ProjectArgs::kThreads / kWarpSize;

/// Floats that a warp leaves in shared memory for each output of the tile, one for each row and
/// output.
inline constexpr int kTileFloats = gpu::ProjectArgs::kTileRows * kWarpSize;

/// Floats of shared memory that a warp has besides: of x, or of what codes are to be multiplied by.
inline constexpr int kWorkFloats = 2 * kTileFloats + kWarpSize;

/// Floats of both, of all warps, and of the chains of a tile.
inline constexpr int kWorkSize = kProjectWarps * kWorkFloats;
inline constexpr int kPartialSize = (kProjectWarps + 1) * kTileFloats;

/// The shared memory of a product.
struct ProductMemory {
  sptr<float> work;     ///< [kWorkSize]: [warps][kWorkFloats]
  sptr<float> partial;  ///< [kPartialSize]: [warps][kTileFloats], and the chains
};

/// Vectors of K inputs; products read those that Rows says: rows(r) is the index of row r of the
/// tile.
template <class Rows>
struct ProductInputs {
  gptr<const float> x;  ///< [vectors][stride], where weights are floats
  std::int64_t stride;
  gptr<const gpu::RowGroup> coded;  ///< [vectors][ceil(K / 32)], where weights are codes
  Rows rows;
  int row_count;  ///< of the tile, at most kTileRows
  int inputs;     ///< K
};

/// The panel of this block: along y, then along z.
FORGE_DEVICE std::int64_t panel_of_block() {
  return std::int64_t{block().z} * grid().y + block().y;
}

}  // namespace FORGE_KERNELS
