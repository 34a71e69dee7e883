// finish_product: what becomes of the sums of a library (tensor_results.cuh).
//
//   grid      x: tiles of 16 rows; y: 256 results, or 128 gates and their ups; four times as many
//             where rows have a norm, since each block adds up the squares of its rows
//   memory    a warp asks for 4 tiles of 16 rows and 8 sums at once, and for y where the sums are
//             added to it: four lanes read 32 consecutive bytes of a row, a sector. Everything
//             comes and goes once
//   bits      those of project_wide: the same functions on the same sums
#pragma once

#include "forge/gpu/kernels/finish_product.h"
#include "forge/simt/dialect.h"
#include "half_rows.cuh"
#include "tensor_results.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// A block's rows, and the sums of them all.
struct FinishRows {
  RowsInOrder row_of;
  int rows;
  sptr<float> factors;
  gptr<const float> sums;

  /// The tile whose first result is `column`.
  FORGE_DEVICE TensorTile tile(int column) const {
    return {0, rows, column, {factors[lane() / 4], factors[lane() / 4 + 8]}};
  }
  /// The sums of outputs `output` and the seven after it.
  FORGE_DEVICE MatrixSum<float> read(const gpu::TensorProduct& a, int output) const {
    return read_tile(sums, a.outputs, row_of, {0, rows, output, {}});
  }
};

/// 32 results of each row, from `column` on.
template <class Half>
FORGE_DEVICE void finish_plain(const gpu::TensorProduct& a, const FinishRows& rows, int column) {
  constexpr int kTiles = gpu::FinishProductArgs::kWarpSums / 8;
  MatrixSum<float> sums[kTiles];
  MatrixSum<float> before[kTiles];
  FORGE_UNROLLED for (int i = 0; i < kTiles; ++i) {
    sums[i] = rows.read(a, column + 8 * i);
    before[i] = read_residual(a, rows.row_of, rows.tile(column + 8 * i));
  }
  FORGE_UNROLLED for (int i = 0; i < kTiles; ++i) {
    store_results<Half>(a, rows.row_of, rows.tile(column + 8 * i), sums[i], before[i]);
  }
}

/// 16 gated results of each row, from `column` on.
template <class Half>
FORGE_DEVICE void finish_gated(const gpu::TensorProduct& a, const FinishRows& rows, int column) {
  constexpr int kTiles = gpu::FinishProductArgs::kWarpSums / 16;
  MatrixSum<float> gates[kTiles];
  MatrixSum<float> ups[kTiles];
  FORGE_UNROLLED for (int i = 0; i < kTiles; ++i) {
    gates[i] = rows.read(a, column + 8 * i);
    ups[i] = rows.read(a, a.columns() + column + 8 * i);
  }
  FORGE_UNROLLED for (int i = 0; i < kTiles; ++i) {
    store_gated<Half>(a, rows.row_of, rows.tile(column + 8 * i), gates[i], ups[i]);
  }
}

FORGE_KERNEL(gpu::FinishProductArgs::kThreads) finish_product(gpu::FinishProductArgs args) {
  constexpr int kTileRows = gpu::FinishProductArgs::kTileRows;
  constexpr int kWarps = gpu::FinishProductArgs::kThreads / kWarpSize;
  SIMT_SHARED(float, factors, kTileRows);
  start_next();
  wait_for_previous();
  const gpu::TensorProduct& a = args.product;
  const RowsInOrder row_of{block().x * kTileRows};
  const int left = static_cast<int>(global(a.row_count)[0]) - row_of.first;
  if (left <= 0) return;
  const FinishRows rows{row_of, left < kTileRows ? left : kTileRows, factors, global(args.sums)};
  find_factors<kTileRows / kWarps>(a, rows.rows, row_of, factors);
  sync_block();
  with_half(a.type, [&](auto half) {
    const int first = block().y * args.turns() * args.turn_columns() + warp() * args.warp_columns();
    FORGE_ROLLED for (int turn = 0; turn < args.turns(); ++turn) {
      const int column = first + turn * args.turn_columns();
      if (column >= a.columns()) break;
      if (a.is_gated()) {
        finish_gated<decltype(half)>(a, rows, column);
      } else {
        finish_plain<decltype(half)>(a, rows, column);
      }
    }
  });
}

}  // namespace FORGE_KERNELS
