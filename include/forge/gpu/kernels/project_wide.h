// project_wide: products of many rows on tensor cores (tensor_product.h), such as those of prompts.
//
// A block has 128 rows of x and 128 outputs, or 64 gates and their 64 ups: what it reads is all
// multiplied 128 times. x and weights come through a ring in shared memory, stages of 64 inputs;
// the first ones of weights are asked for before the launch before this one has ended.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const PassCounts* counts`,
// `const void* rows`, `const float* squares`, `const void* weights` and `void* gated`:
//
//   const ProjectWideArgs args{{.row_count = &counts->rows,
//                               .rows_max = 2048,
//                               .x = rows,
//                               .weights = weights,
//                               .inputs = 4096,
//                               .outputs = 28672,
//                               .type = numerics::HalfType::bf16,
//                               .norm = {.squares = squares, .eps = 1e-5f},
//                               .gated = {.h = gated}}};
//   return launch_of(args, args.shape());
#pragma once

#include "forge/gpu/kernels/tensor_product.h"

namespace forge::gpu {

struct ProjectWideArgs {
  static constexpr bool kOverlaps = true;
  static constexpr int kThreads = 256;
  static constexpr int kTileRows = 128;
  static constexpr int kTileOutputs = 128;  ///< rows of weights
  static constexpr int kStageInputs = 64;
  static constexpr int kStages = 4;
  static constexpr BlockResources kResources{.shared_bytes = kTileRows * 4, .registers = 170};
  TensorProduct product;

  /// Of the result, those that a block makes.
  FORGE_HOST_DEVICE int tile_columns() const {
    return product.is_gated() ? kTileOutputs / 2 : kTileOutputs;
  }

  simt::LaunchShape shape() const {
    constexpr int kRowBytes = kStageInputs * 2;
    return {{ceil_div(product.rows_max, kTileRows), ceil_div(product.columns(), tile_columns()), 1},
            kThreads,
            kStages * (kTileRows + kTileOutputs) * kRowBytes};
  }
};

}  // namespace forge::gpu
