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
//
// project_experts_narrow.cuh is the same with rows and weights from elsewhere.
#pragma once

#include "forge/gpu/kernels/project_narrow.h"
#include "forge/simt/dialect.h"
#include "half_rows.cuh"
#include "tensor_results.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// The tile of outputs of the block's first warp.
FORGE_DEVICE int first_output_tile() {
  return (block().z * grid().y + block().y) * (threads() / kWarpSize);
}

/// What a warp multiplies, and where it lies.
struct NarrowTile {
  sptr<std::uint16_t> ring;
  gptr<const std::uint16_t> x;
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

FORGE_DEVICE NarrowTile narrow_tile(const gpu::ProjectNarrowArgs& args, sptr<std::uint16_t> ring) {
  constexpr int kTile = gpu::ProjectNarrowArgs::kTileOutputs;
  const gpu::TensorProduct& a = args.product;
  const int output_tile = first_output_tile() + warp();
  const gptr<const std::uint16_t> weights = global(static_cast<const std::uint16_t*>(a.weights));
  return {.ring = ring,
          .x = global(static_cast<const std::uint16_t*>(a.x)),
          .weights = weights + std::int64_t{output_tile} * kTile * a.inputs,
          .inputs = a.inputs,
          .rows = 0,
          .stage_rows = args.stage_rows(),
          .weight_rows = a.is_gated() ? 2 * kTile : kTile,
          .up_distance = a.outputs / 2,
          .first_output = output_tile * kTile,
          .is_there = output_tile < args.output_tiles()};
}

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
template <class Rows>
FORGE_DEVICE void fill_rows(const NarrowTile& tile, const Rows& row_of, int stage, int slot) {
  constexpr int kPieces = NarrowTile::kRowPieces;
  const sptr<std::uint16_t> to = tile.x_of(slot);
  for (int i = thread(); i < tile.rows * kPieces; i += threads()) {
    const int row = i / kPieces;
    const int k = stage * NarrowTile::kInputs + i % kPieces * 8;
    copy_async(to + NarrowTile::place(row, i % kPieces),
               tile.x + row_of.source(row) * tile.inputs + k, k < tile.inputs);
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
template <class Half, int kTiles, class Rows>
FORGE_DEVICE void multiply_narrow(const NarrowTile& tile, const Rows& row_of,
                                  MatrixSum<float> (&sums)[kTiles]) {
  constexpr int kStages = gpu::ProjectNarrowArgs::kStages;
  const int stages = (tile.inputs + NarrowTile::kInputs - 1) / NarrowTile::kInputs;
  FORGE_ROLLED for (int stage = 0; stage < stages; ++stage) {
    wait_copies<kStages - 2>();
    sync_block();  // the stage has arrived, and nobody reads the one before it any more
    const int ahead = stage + kStages - 1;
    fill_weights(tile, ahead, ahead % kStages);
    fill_rows(tile, row_of, ahead, ahead % kStages);
    commit_copies();
    multiply_stage<Half>(tile, stage % kStages, sums);
  }
}

/// Each row after the other: where there is one alone, more of its loads are under way at once.
template <class Rows>
FORGE_DEVICE RowFactors narrow_factors(const gpu::TensorProduct& a, const Rows& row_of, int rows) {
  if (a.norm.squares == nullptr) return {};
  float first = 0.0f;
  float second = 0.0f;
  for (int row = 0; row < rows; ++row) {
    const std::int64_t source = row_of.source(row);
    for_each_square_sum<1>(
        a, 1, [&](int) { return source; },
        [&](int, float sum) {
          if (row == lane() / 4) first = sum;
          if (row == lane() / 4 + 8) second = sum;
        });
  }
  return {row_factor(a, first), row_factor(a, second)};
}

/// Asks for the weights of all stages but the last.
FORGE_DEVICE void fill_first_weights(const NarrowTile& tile) {
  constexpr int kStages = gpu::ProjectNarrowArgs::kStages;
  for (int stage = 0; stage < kStages - 1; ++stage) fill_weights(tile, stage, stage);
  commit_copies();
}

/// The results of a block that has rows, whose first weights are on their way.
template <class Half, int kTiles, class Rows>
FORGE_DEVICE void make_narrow_results(const gpu::TensorProduct& a, const NarrowTile& tile,
                                      const Rows& row_of) {
  for (int stage = 0; stage < gpu::ProjectNarrowArgs::kStages - 1; ++stage) {
    fill_rows(tile, row_of, stage, stage);
    commit_copies();
  }
  const RowFactors factors = narrow_factors(a, row_of, tile.rows);
  MatrixSum<float> sums[kTiles] = {};
  multiply_narrow<Half>(tile, row_of, sums);
  wait_copies<0>();
  if (!tile.is_there) return;
  const TensorTile results{0, tile.rows, tile.first_output, factors};
  if constexpr (kTiles == 2) {
    store_gated<Half>(a, row_of, results, sums[0], sums[1]);
  } else {
    store_results<Half>(a, row_of, results, sums[0], read_residual(a, row_of, results));
  }
}

/// How many tiles of outputs a warp has: one, or that of its gates and that of their ups.
template <int kTiles>
struct NarrowTiles {
  static constexpr int kCount = kTiles;
};

/// Calls body with a number of the product's type and the tiles of a warp.
template <class Body>
FORGE_DEVICE void with_narrow(const gpu::TensorProduct& a, const Body& body) {
  with_half(a.type, [&](auto half) {
    if (a.is_gated()) return body(half, NarrowTiles<2>());
    return body(half, NarrowTiles<1>());
  });
}

template <class Half, int kTiles>
FORGE_DEVICE void project_narrow_tile(const gpu::TensorProduct& a, NarrowTile tile) {
  fill_first_weights(tile);
  wait_for_previous();
  const RowsInOrder row_of{block().x * gpu::ProjectNarrowArgs::kTileRows};
  const int left = static_cast<int>(global(a.row_count)[0]) - row_of.first;
  tile.rows = left < tile.stage_rows ? left : tile.stage_rows;
  if (tile.rows <= 0) {
    wait_copies<0>();  // they must not arrive where another block is by then
    return;
  }
  make_narrow_results<Half, kTiles>(a, tile, row_of);
}

FORGE_KERNEL(gpu::ProjectNarrowArgs::kThreads) project_narrow(gpu::ProjectNarrowArgs args) {
  SIMT_SHARED_DYNAMIC(std::uint16_t, ring);
  start_next();
  if (first_output_tile() >= args.output_tiles()) return wait_for_previous();
  const NarrowTile tile = narrow_tile(args, ring);
  with_narrow(args.product, [&](auto half, auto tiles) {
    project_narrow_tile<decltype(half), decltype(tiles)::kCount>(args.product, tile);
  });
}

}  // namespace FORGE_KERNELS
