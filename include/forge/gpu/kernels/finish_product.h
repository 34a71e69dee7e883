// finish_product: what becomes of the products of a library (gpu/matrix_library.h), which leaves
// plain sums: the same as of those of project_wide (tensor_product.h), with the same bits.
//
// A library knows no norm that was taken apart, no soft cap and no gates that go by pairs; and what
// it can add to its sums, it adds in an order of its own. So they go through memory once more, 8
// bytes for each product of a row and an output: of 8192 rows of Llama-3-8B an H200 took a fifth of
// the time that the library took for the products (bench/README.md).
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const PassCounts* counts`,
// `const float* sums`, `const float* squares` and `void* gated`:
//
//   const FinishProductArgs args{{.row_count = &counts->rows,
//                                 .rows_max = 2048,
//                                 .inputs = 4096,
//                                 .outputs = 28672,
//                                 .type = numerics::HalfType::bf16,
//                                 .norm = {.squares = squares, .eps = 1e-5f},
//                                 .gated = {.h = gated}},
//                                sums};
//   return launch_of(args, args.shape());
#pragma once

#include "forge/gpu/kernels/tensor_product.h"

namespace forge::gpu {

struct FinishProductArgs {
  static constexpr bool kOverlaps = true;
  static constexpr int kThreads = 256;
  static constexpr int kBlocks = 4;  ///< that are to fit on a multiprocessor
  static constexpr int kLaneResults = 8;
  static constexpr int kBlockResults = kThreads * kLaneResults;
  static constexpr BlockResources kResources{.shared_bytes = 4, .registers = 54};
  TensorProduct product;  ///< x and weights are not read; N, and F, are multiples of 8
  const float* sums;      ///< [rows][N]

  simt::LaunchShape shape() const {
    return {{product.rows_max, ceil_div(product.columns(), kBlockResults), 1}, kThreads};
  }
};

}  // namespace forge::gpu
