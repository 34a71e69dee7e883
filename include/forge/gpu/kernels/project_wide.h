// project_wide: products of many rows on tensor cores (tensor_product.h): those of batches, and of
// prompts.
//
// x and weights come through a ring in shared memory, stages of 64 inputs; the first ones of
// weights are asked for before the launch before this one has ended. A number that a block reads is
// multiplied as often as the block has rows, or outputs, where gates and ups count, too. There are
// three kinds of blocks, of four warps, with a ring of 96 KB; W is the size of all weights:
//
//   kind    rows x outputs   of a warp   reads of L2, with all rows   for
//   large   128 x 128        64 x 64     2 W for each 128 rows        more than 64 rows
//   small    64 x 64         32 x 32     2 W                          up to 64 rows
//   slim     64 x 32         16 x 32     3 W                          the same, if outputs are few
//
// A warp reads a row and an output from shared memory once for all its products: the more of both
// it has, the less it reads. Two blocks find room on a multiprocessor of 227 KB.
//
// A slim block reads more for each output, but 4096 outputs are 128 slim blocks and only 64 small
// ones, which leave half of an H200's 132 multiprocessors without work.
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

/// What a block multiplies.
struct WideBlock {
  int rows;          ///< of x
  int outputs;       ///< rows of weights
  int warp_rows;     ///< of a warp
  int warp_outputs;  ///< of a warp
  int stages;        ///< of the ring

  FORGE_HOST_DEVICE constexpr int threads() const {
    return rows / warp_rows * (outputs / warp_outputs) * simt::kWarpSize;
  }
};

enum class WideKind : std::uint8_t { large, small, slim };

FORGE_HOST_DEVICE constexpr WideBlock block_of(WideKind kind) {
  if (kind == WideKind::large) return {128, 128, 64, 64, 3};
  if (kind == WideKind::small) return {64, 64, 32, 32, 6};
  return {64, 32, 16, 32, 8};
}

/// For so many rows.
constexpr WideKind wide_kind(int rows) {
  return rows <= block_of(WideKind::small).rows ? WideKind::small : WideKind::large;
}
/// The same, if all its blocks are those of one product. Slim ones are worth their bytes as long as
/// each has a multiprocessor of its own.
constexpr WideKind wide_kind(int rows, int outputs) {
  constexpr int kMultiprocessors = 128;  // those of large devices are a few more
  const WideKind kind = wide_kind(rows);
  const bool are_few = ceil_div(outputs, block_of(WideKind::slim).outputs) <= kMultiprocessors;
  return kind == WideKind::small && are_few ? WideKind::slim : kind;
}

struct ProjectWideArgs {
  static constexpr bool kOverlaps = true;
  static constexpr int kThreads = block_of(WideKind::large).threads();
  static constexpr int kRowsMax = block_of(WideKind::large).rows;  ///< of a block
  static constexpr int kStageInputs = 64;
  static constexpr BlockResources kResources{.shared_bytes = kRowsMax * 4, .registers = 255};
  TensorProduct product;
  WideKind kind = wide_kind(product.rows_max, product.outputs);

  FORGE_HOST_DEVICE WideBlock block() const { return block_of(kind); }
  FORGE_HOST_DEVICE int tile_rows() const { return block().rows; }
  /// Of the result, those that a block makes.
  FORGE_HOST_DEVICE int tile_columns() const {
    return product.is_gated() ? block().outputs / 2 : block().outputs;
  }

  simt::LaunchShape shape() const {
    constexpr int kRowBytes = kStageInputs * 2;
    const WideBlock b = block();
    return {{ceil_div(product.rows_max, b.rows), ceil_div(product.columns(), tile_columns()), 1},
            b.threads(),
            b.stages * (b.rows + b.outputs) * kRowBytes};
  }
};

}  // namespace forge::gpu
