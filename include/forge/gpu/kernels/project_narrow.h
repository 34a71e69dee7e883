// project_narrow: products of few rows on tensor cores (tensor_product.h).
//
// Weights are read once, in pieces of 256 bytes of 8 outputs, through a ring in shared memory that
// is full before the launch before this one has ended: weights do not depend on it. A warp has 8
// outputs, or 8 gates and their 8 ups, for up to 16 rows; x goes through the same ring, and from 5
// rows on four warps share it. More rows than 16 are further blocks, which find the weights in the
// L2 cache.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const PassCounts* counts`,
// `const void* rows`, `const float* squares`, `const void* weights` and `float* logits`:
//
//   const ProjectNarrowArgs args{{.row_count = &counts->logit_rows,
//                                 .rows_max = 8,
//                                 .x = rows,
//                                 .weights = weights,
//                                 .inputs = 4096,
//                                 .outputs = 128256,
//                                 .type = numerics::HalfType::bf16,
//                                 .norm = {.squares = squares, .eps = 1e-5f},
//                                 .y = logits}};
//   return launch_of(args, args.shape());
#pragma once

#include "forge/gpu/kernels/tensor_product.h"

namespace forge::gpu {

struct ProjectNarrowArgs {
  static constexpr bool kOverlaps = true;
  static constexpr int kThreads = 128;
  static constexpr int kTileRows = 16;
  static constexpr int kTileOutputs = 8;  ///< of a warp
  static constexpr int kStageInputs = 128;
  static constexpr int kThreadRows = 2;  ///< of x that a thread copies, at most
  static constexpr BlockResources kResources{.registers = 128};
  TensorProduct product;

  FORGE_HOST_DEVICE int tile_rows() const { return kTileRows; }
  FORGE_HOST_DEVICE int output_tiles() const { return ceil_div(product.columns(), kTileOutputs); }

  /// Stages of the ring. Those of gates and ups have twice the weights.
  FORGE_HOST_DEVICE static constexpr int stages(bool is_gated) { return is_gated ? 4 : 8; }

  /// Rows of x in a stage of the ring, which has no room for rows that are never there.
  FORGE_HOST_DEVICE int stage_rows() const {
    return product.rows_max < kTileRows ? product.rows_max : kTileRows;
  }

  simt::LaunchShape shape() const {
    constexpr int kTilesY = 1 << 15;  // along y, which ends at 65535; further tiles along z
    constexpr int kRowBytes = kStageInputs * 2;
    const int warps = product.rows_max > 4 ? 4 : 1;
    const int blocks = ceil_div(output_tiles(), warps);
    const int weight_rows = warps * kTileOutputs * (product.is_gated() ? 2 : 1);
    return {{ceil_div(product.rows_max, kTileRows), blocks < kTilesY ? blocks : kTilesY,
             ceil_div(blocks, kTilesY)},
            warps * simt::kWarpSize,
            stages(product.is_gated()) * (weight_rows + stage_rows()) * kRowBytes};
  }
};

}  // namespace forge::gpu
