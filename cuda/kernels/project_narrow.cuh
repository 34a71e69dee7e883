// project_narrow: v = s x W^T + bias for up to 16 rows in a block, on tensor cores; what becomes of
// v is tensor_results.cuh.
//
//   grid      x: tiles of 16 rows; y, then z: tiles of outputs, 8 for each warp, or 8 gates and
//             their 8 ups. Up to 4 rows a block has one warp: the more blocks wait for memory, the
//             more of its bytes are under way
//   memory    a ring of 8 stages of 128 inputs, in rows of 256 bytes: x, then the outputs of each
//             warp. 16 bytes c of row r are at c ^ (r % 8), so that the eight rows which
//             load_matrix4 takes together have all banks. Seven stages are under way while one is
//             multiplied; those of weights are asked for before the launch before has ended
//   bits      numerics/tensor_product.h: an output has one accumulator, and a step of the tensor
//             core adds 16 inputs to it, ascending. Inputs beyond K are zeros in both factors. Rows
//             that are not there repeat the first, and nobody looks at their outputs
#pragma once

#include "forge/gpu/kernels/project_narrow.h"
#include "forge/simt/dialect.h"
#include "half_rows.cuh"
#include "tensor_results.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// What a warp multiplies, and where it lies.
struct NarrowTile {
  sptr<std::uint16_t> ring;
  gptr<const std::uint16_t> x;        ///< the block's first row
  gptr<const std::uint16_t> weights;  ///< the first of the warp's outputs
  int inputs;                         ///< K
  int rows;                           ///< of x that are there, 1 .. 16; 0 before that is known
  int stage_rows;                     ///< of x, in a stage
  int weight_rows;                    ///< of a warp, in a stage
  int up_distance;                    ///< rows of weights from a gate to its up
  int first_output;                   ///< of the warp
  bool is_there;                      ///< whether it has outputs

  static constexpr int kInputs = gpu::ProjectNarrowArgs::kStageInputs;
  static constexpr int kRowPieces = kInputs / 8;  // of 16 bytes

  FORGE_DEVICE int stage_size() const {
    return (stage_rows + threads() / kWarpSize * weight_rows) * kInputs;
  }
  FORGE_DEVICE sptr<std::uint16_t> x_of(int slot) const { return ring + slot * stage_size(); }
  FORGE_DEVICE sptr<std::uint16_t> weights_of(int slot) const {
    return x_of(slot) + (stage_rows + warp() * weight_rows) * kInputs;
  }
  /// Where 16 bytes of a row are in a stage.
  FORGE_DEVICE static int place(int row, int piece) {
    return row * kInputs + (piece ^ row % 8) * 8;
  }
};

/// Asks for the weights of a stage.
FORGE_DEVICE void fill_weights(const NarrowTile& tile, int stage, int slot) {
  constexpr int kPieces = NarrowTile::kRowPieces;
  constexpr int kTile = gpu::ProjectNarrowArgs::kTileOutputs;
  const sptr<std::uint16_t> to = tile.weights_of(slot);
  for (int i = lane(); i < tile.weight_rows * kPieces; i += kWarpSize) {
    const int row = i / kPieces;
    const int k = stage * NarrowTile::kInputs + i % kPieces * 8;
    const int output = row / kTile * tile.up_distance + row % kTile;
    copy_async(to + NarrowTile::place(row, i % kPieces),
               tile.weights + std::int64_t{output} * tile.inputs + k,
               tile.is_there && k < tile.inputs);
  }
}

/// Asks for the rows of a stage.
FORGE_DEVICE void fill_rows(const NarrowTile& tile, int stage, int slot) {
  constexpr int kPieces = NarrowTile::kRowPieces;
  const sptr<std::uint16_t> to = tile.x_of(slot);
  for (int i = thread(); i < tile.rows * kPieces; i += threads()) {
    const int row = i / kPieces;
    const int k = stage * NarrowTile::kInputs + i % kPieces * 8;
    copy_async(to + NarrowTile::place(row, i % kPieces),
               tile.x + std::int64_t{row} * tile.inputs + k, k < tile.inputs);
  }
}

/// Adds the products of a stage. The stage goes to registers before anything is multiplied, so that
/// its loads wait for one another no longer than they must.
template <class Half, int kTiles>
FORGE_DEVICE void multiply_stage(const NarrowTile& tile, int slot,
                                 MatrixSum<float> (&sums)[kTiles]) {
  constexpr int kSteps = NarrowTile::kInputs / 16;
  const sptr<std::uint16_t> x = tile.x_of(slot);
  const sptr<std::uint16_t> weights = tile.weights_of(slot);
  MatrixA outputs[kTiles][kSteps / 2];  // of two steps each
  for (int t = 0; t < kTiles; ++t) {
    for (int i = 0; i < kSteps / 2; ++i) {
      outputs[t][i] =
          load_matrix4(weights + NarrowTile::place(t * 8 + lane() % 8, 4 * i + lane() / 8));
    }
  }
  const int row = lane() % 16 < tile.rows ? lane() % 16 : 0;
  MatrixA rows[kSteps];
  for (int step = 0; step < kSteps; ++step) {
    rows[step] = load_matrix4(x + NarrowTile::place(row, 2 * step + lane() / 16));
  }
  for (int step = 0; step < kSteps; ++step) {
    for (int t = 0; t < kTiles; ++t) {
      const MatrixA& two = outputs[t][step / 2];
      const MatrixB factors{{two.words[step % 2 * 2], two.words[step % 2 * 2 + 1]}};
      sums[t] = matrix_step<Half>(rows[step], factors, sums[t]);
    }
  }
}

/// The products of the block's rows and the warp's outputs.
template <class Half, int kTiles>
FORGE_DEVICE void multiply_narrow(const NarrowTile& tile, MatrixSum<float> (&sums)[kTiles]) {
  constexpr int kStages = gpu::ProjectNarrowArgs::kStages;
  const int stages = (tile.inputs + NarrowTile::kInputs - 1) / NarrowTile::kInputs;
  FORGE_ROLLED for (int stage = 0; stage < stages; ++stage) {
    wait_copies<kStages - 2>();
    sync_block();  // the stage has arrived, and nobody reads the one before it any more
    const int ahead = stage + kStages - 1;
    fill_weights(tile, ahead, ahead % kStages);
    fill_rows(tile, ahead, ahead % kStages);
    commit_copies();
    multiply_stage<Half>(tile, stage % kStages, sums);
  }
}

/// Each row after the other: where there is one alone, more of its loads are under way at once.
FORGE_DEVICE RowFactors narrow_factors(const gpu::TensorProduct& a, int first_row, int rows) {
  if (a.norm.squares == nullptr) return {};
  float first = 0.0f;
  float second = 0.0f;
  for (int row = 0; row < rows; ++row) {
    for_each_square_sum<1>(a, first_row + row, 1, [&](int, float sum) {
      if (row == lane() / 4) first = sum;
      if (row == lane() / 4 + 8) second = sum;
    });
  }
  return {row_factor(a, first), row_factor(a, second)};
}

template <class Half, int kTiles>
FORGE_DEVICE void project_narrow_tile(const gpu::TensorProduct& a, NarrowTile tile) {
  constexpr int kStages = gpu::ProjectNarrowArgs::kStages;
  for (int stage = 0; stage < kStages - 1; ++stage) fill_weights(tile, stage, stage);
  commit_copies();
  wait_for_previous();
  const int first_row = block().x * gpu::ProjectNarrowArgs::kTileRows;
  const int left = static_cast<int>(global(a.row_count)[0]) - first_row;
  tile.rows = left < tile.stage_rows ? left : tile.stage_rows;
  if (tile.rows <= 0) {
    wait_copies<0>();  // they must not arrive where another block is by then
    return;
  }
  for (int stage = 0; stage < kStages - 1; ++stage) {
    fill_rows(tile, stage, stage);
    commit_copies();
  }
  const RowFactors factors = narrow_factors(a, first_row, tile.rows);
  MatrixSum<float> sums[kTiles] = {};
  multiply_narrow<Half>(tile, sums);
  wait_copies<0>();
  if (!tile.is_there) return;
  const TensorTile results{first_row, tile.rows, tile.first_output, factors};
  if constexpr (kTiles == 2) {
    store_gated<Half>(a, results, sums[0], sums[1]);
  } else {
    store_results<Half>(a, results, sums[0], read_residual(a, results));
  }
}

FORGE_KERNEL(gpu::ProjectNarrowArgs::kThreads) project_narrow(gpu::ProjectNarrowArgs args) {
  SIMT_SHARED_DYNAMIC(std::uint16_t, ring);
  using Args = gpu::ProjectNarrowArgs;
  start_next();
  const gpu::TensorProduct& a = args.product;
  const int first_tile = (block().z * grid().y + block().y) * (threads() / kWarpSize);
  if (first_tile >= args.output_tiles()) return wait_for_previous();
  const int output_tile = first_tile + warp();
  const std::int64_t first_row = std::int64_t{block().x} * Args::kTileRows;
  const gptr<const std::uint16_t> x = global(static_cast<const std::uint16_t*>(a.x));
  const gptr<const std::uint16_t> weights = global(static_cast<const std::uint16_t*>(a.weights));
  const NarrowTile tile{
      .ring = ring,
      .x = x + first_row * a.inputs,
      .weights = weights + std::int64_t{output_tile} * Args::kTileOutputs * a.inputs,
      .inputs = a.inputs,
      .rows = 0,
      .stage_rows = args.stage_rows(),
      .weight_rows = a.is_gated() ? 2 * Args::kTileOutputs : Args::kTileOutputs,
      .up_distance = a.outputs / 2,
      .first_output = output_tile * Args::kTileOutputs,
      .is_there = output_tile < args.output_tiles()};
  with_half(a.type, [&](auto half) {
    using Half = decltype(half);
    if (a.is_gated()) return project_narrow_tile<Half, 2>(a, tile);
    return project_narrow_tile<Half, 1>(a, tile);
  });
}

}  // namespace FORGE_KERNELS
