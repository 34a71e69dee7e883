// project_wide: v = s x W^T + bias for 64 or 128 rows in a block, on tensor cores; what becomes of
// v is tensor_results.cuh.
//
//   grid      x: tiles of rows; y: tiles of outputs, or of half as many gates and their ups. Tiles
//             of rows run fastest: blocks that run side by side read the same weights, which come
//             from memory once, and x is small enough to stay in the L2 cache. A warp has 32
//             outputs and 64, 32 or 16 rows of a block that is large, small or slim:
//
//                 outputs   0 .. 31   32 .. 63   64 .. 95   96 .. 127
//              rows  0 ..   warp 0    warp 1     warp 2     warp 3       of a large one
//                   64 ..   warp 4    warp 5     warp 6     warp 7
//
//             and keeps its sums in registers, up to 64 in a thread. Of gates and ups the 32
//             outputs of a warp are 16 gates and their 16 ups, so that it can gate them itself
//   memory    a ring of 4, 6 or 8 stages of 64 inputs, in rows of 128 bytes: those of x, then those
//             of outputs. 16 bytes c of row r are at c ^ (r % 8), so that the eight rows which
//             load_matrix4 takes together have all banks. All stages but the one that is multiplied
//             are under way, 80 KB or more; those of weights are asked for before the launch before
//             has ended
//   bits      numerics/tensor_product.h: an output has one accumulator, and a step of the tensor
//             core adds 16 inputs to it, ascending. Inputs beyond K are zeros in both factors. Rows
//             and outputs that are not there are zeros, too, and nobody looks at their sums
//
// project_experts_wide.cuh and project_heads_wide.cuh are the same with rows and weights from
// elsewhere.
#pragma once

#include "forge/gpu/kernels/project_wide.h"
#include "forge/simt/dialect.h"
#include "half_rows.cuh"
#include "tensor_results.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// Which row of a matrix a row of a stage is, and whether there is such a one.
struct WideSource {
  std::int64_t row;
  bool is_there;
};

/// What a block multiplies, and where it lies.
template <gpu::WideKind kKind>
struct WideTile {
  sptr<std::uint16_t> ring;
  gptr<const std::uint16_t> x;
  gptr<const std::uint16_t> weights;
  int inputs;        ///< K
  int rows;          ///< of x that are there, 1 .. kTileRows; 0 before that is known
  int first_column;  ///< of the block, in the result
  int columns;       ///< of the result
  int up_distance;   ///< rows of weights from a gate to its up; 0: outputs are not gated

  static constexpr gpu::WideBlock kBlock = gpu::block_of(kKind);
  static constexpr int kTileRows = kBlock.rows;
  static constexpr int kTileOutputs = kBlock.outputs;
  static constexpr int kThreads = kBlock.threads();
  static constexpr int kStages = kBlock.stages;
  static constexpr int kRows = kBlock.warp_rows;  // of a warp
  static constexpr int kOutputs = 32;
  static constexpr int kWarpsAlongOutputs = kTileOutputs / kOutputs;
  static constexpr int kInputs = gpu::ProjectWideArgs::kStageInputs;
  static constexpr int kRowPieces = kInputs / 8;  // of 16 bytes

  FORGE_DEVICE sptr<std::uint16_t> x_of(int stage) const {
    return ring + stage % kStages * (kTileRows + kTileOutputs) * kInputs;
  }
  FORGE_DEVICE sptr<std::uint16_t> weights_of(int stage) const {
    return x_of(stage) + kTileRows * kInputs;
  }
  /// Where 16 bytes of a row are in a stage.
  FORGE_DEVICE static int place(int row, int piece) {
    return row * kInputs + (piece ^ row % 8) * 8;
  }

  /// The row of weights that is row `row` of a stage.
  FORGE_DEVICE WideSource output_of(int row) const {
    if (up_distance == 0) return {first_column + row, first_column + row < columns};
    const int gate = first_column + row / kOutputs * (kOutputs / 2) + row % (kOutputs / 2);
    const bool is_up = row % kOutputs >= kOutputs / 2;
    return {is_up ? up_distance + gate : gate, gate < columns};
  }

  /// The warp's first row, of the block's.
  FORGE_DEVICE int warp_row() const { return warp() / kWarpsAlongOutputs * kRows; }
  /// The warp's first row of weights in a stage, and its first column of the result.
  FORGE_DEVICE int warp_output() const { return warp() % kWarpsAlongOutputs * kOutputs; }
  FORGE_DEVICE int warp_column() const { return static_cast<int>(output_of(warp_output()).row); }
  FORGE_DEVICE bool warp_has_results() const {
    return warp_row() < rows && warp_column() < columns;
  }
};

/// The sums of a warp, in tiles of 16 rows and 8 outputs. Where outputs are gated, the tiles of ups
/// come after those of their gates.
template <class Tile>
struct WideSums {
  static constexpr int kRowTiles = Tile::kRows / 16;
  static constexpr int kOutputTiles = Tile::kOutputs / 8;
  MatrixSum<float> of[kRowTiles][kOutputTiles];
};

// ---- Copies -------------------------------------------------------------------------------------

/// Asks for the inputs of a stage, of kCount rows of a matrix: eight threads a row, 16 bytes each.
template <int kCount, class Tile, class SourceOf>
FORGE_DEVICE void fill_wide(const Tile& tile, int stage, sptr<std::uint16_t> to,
                            gptr<const std::uint16_t> matrix, const SourceOf& source_of) {
  constexpr int kRowsAtOnce = Tile::kThreads / Tile::kRowPieces;
  const int piece = thread() % Tile::kRowPieces;
  const int k = stage * Tile::kInputs + piece * 8;
  for (int i = 0; i < kCount; i += kRowsAtOnce) {
    const int row = i + thread() / Tile::kRowPieces;
    const WideSource source = source_of(row);
    copy_async(to + Tile::place(row, piece), matrix + source.row * tile.inputs + k,
               source.is_there && k < tile.inputs);
  }
}

template <class Tile, class Rows>
FORGE_DEVICE void fill_wide_rows(const Tile& tile, const Rows& row_of, int stage) {
  fill_wide<Tile::kTileRows>(tile, stage, tile.x_of(stage), tile.x, [&](int row) {
    return WideSource{row_of.source(row), row < tile.rows};
  });
}

template <class Tile>
FORGE_DEVICE void fill_wide_weights(const Tile& tile, int stage) {
  fill_wide<Tile::kTileOutputs>(tile, stage, tile.weights_of(stage), tile.weights,
                                [&](int row) { return tile.output_of(row); });
}

// ---- Products -----------------------------------------------------------------------------------

/// Adds the products of a stage.
template <class Half, class Tile>
FORGE_DEVICE void multiply_wide_stage(const Tile& tile, int stage, WideSums<Tile>& sums) {
  using Sums = WideSums<Tile>;
  const sptr<std::uint16_t> x = tile.x_of(stage);
  const sptr<std::uint16_t> weights = tile.weights_of(stage);
  const int row = tile.warp_row() + lane() % 16;
  const int output = tile.warp_output() + lane() / 16 * 8 + lane() % 8;
  for (int step = 0; step < Tile::kInputs / 16; ++step) {
    MatrixA outputs[Sums::kOutputTiles / 2];  // of two tiles each
    for (int i = 0; i < Sums::kOutputTiles / 2; ++i) {
      outputs[i] = load_matrix4(weights + Tile::place(output + 16 * i, 2 * step + lane() / 8 % 2));
    }
    for (int m = 0; m < Sums::kRowTiles; ++m) {
      const MatrixA rows = load_matrix4(x + Tile::place(row + 16 * m, 2 * step + lane() / 16));
      for (int n = 0; n < Sums::kOutputTiles; ++n) {
        const MatrixA& two = outputs[n / 2];
        const MatrixB factors{{two.words[n % 2 * 2], two.words[n % 2 * 2 + 1]}};
        sums.of[m][n] = matrix_step<Half>(rows, factors, sums.of[m][n]);
      }
    }
  }
}

/// The products of the warp's rows and outputs. A warp that has none helps to fill the ring.
template <class Half, class Tile, class Rows>
FORGE_DEVICE void multiply_wide(const Tile& tile, const Rows& row_of, WideSums<Tile>& sums) {
  constexpr int kStages = Tile::kStages;
  const int stages = (tile.inputs + Tile::kInputs - 1) / Tile::kInputs;
  const bool has_results = tile.warp_has_results();
  FORGE_ROLLED for (int stage = 0; stage < stages; ++stage) {
    wait_copies<kStages - 2>();
    sync_block();  // the stage has arrived, and nobody reads the one before it any more
    fill_wide_weights(tile, stage + kStages - 1);
    fill_wide_rows(tile, row_of, stage + kStages - 1);
    commit_copies();
    if (has_results) multiply_wide_stage<Half>(tile, stage, sums);
  }
}

// ---- Results ------------------------------------------------------------------------------------

/// Tiles of sums of a warp in shared memory, where each lane finds its own again. Registers have no
/// index that is known only when the kernel runs; from here one tile after the other goes through
/// the same instructions, of which there would be sixteen times as many otherwise.
template <class Tile>
struct ParkedTiles {
  using Sums = WideSums<Tile>;
  static constexpr int kCount = Sums::kRowTiles * Sums::kOutputTiles;
  static constexpr int kLaneNumbers = 8;  // of 16 bits, for four floats

  sptr<std::uint16_t> at;  ///< the lane's share of the first

  FORGE_DEVICE sptr<std::uint16_t> place(int m, int n) const {
    return at + (m * Sums::kOutputTiles + n) * kWarpSize * kLaneNumbers;
  }
  FORGE_DEVICE void put(int m, int n, const MatrixSum<float>& sums) const {
    park_sums(place(m, n), sums);
  }
  FORGE_DEVICE MatrixSum<float> get(int m, int n) const { return parked_sums(place(m, n)); }
};

/// What a warp makes its results of.
template <class Tile>
struct WideResults {
  ParkedTiles<Tile> sums;
  ParkedTiles<Tile> before;  ///< y, where they are added to it
  sptr<float> factors;       ///< s of the block's rows
};

/// Requires: nobody reads the ring any more, and nothing arrives there.
template <class Tile>
FORGE_DEVICE WideResults<Tile> results_in(const Tile& tile, sptr<float> factors) {
  using Parked = ParkedTiles<Tile>;
  constexpr int kNumbers = Parked::kCount * kWarpSize * Parked::kLaneNumbers;
  static_assert(2 * kNumbers * Tile::kThreads / kWarpSize <=
                Tile::kStages * (Tile::kTileRows + Tile::kTileOutputs) * Tile::kInputs);
  const Parked sums{tile.ring + warp() * 2 * kNumbers + lane() * Parked::kLaneNumbers};
  return {sums, {sums.at + kNumbers}, factors};
}

/// Tile m, n of the warp's, with its factors where they are known.
template <class Tile>
FORGE_DEVICE TensorTile tensor_tile(const Tile& tile, int m, int n,
                                    const RowFactors& factors = {}) {
  const int row = tile.warp_row() + 16 * m;
  return {row, tile.rows - row, tile.warp_column() + 8 * n, factors};
}

template <class Tile, class Rows>
FORGE_DEVICE void park_tiles(const gpu::TensorProduct& a, const Tile& tile, const Rows& row_of,
                             const WideResults<Tile>& results, const WideSums<Tile>& sums) {
  using Sums = WideSums<Tile>;
  for (int m = 0; m < Sums::kRowTiles; ++m) {
    for (int n = 0; n < Sums::kOutputTiles; ++n) {
      results.sums.put(m, n, sums.of[m][n]);
      if (a.accumulate) results.before.put(m, n, read_residual(a, row_of, tensor_tile(tile, m, n)));
    }
  }
}

/// The results of the warp's row tile m.
template <class Half, class Tile, class Rows>
FORGE_DEVICE void store_wide(const gpu::TensorProduct& a, const Tile& tile, const Rows& row_of,
                             const WideResults<Tile>& results, int m) {
  constexpr int kTiles = WideSums<Tile>::kOutputTiles;
  const int row = tile.warp_row() + 16 * m + lane() / 4;
  const RowFactors factors{results.factors[row], results.factors[row + 8]};
  if (a.is_gated()) {
    FORGE_ROLLED for (int n = 0; n < kTiles / 2; ++n) {
      store_gated<Half>(a, row_of, tensor_tile(tile, m, n, factors), results.sums.get(m, n),
                        results.sums.get(m, n + kTiles / 2));
    }
    return;
  }
  FORGE_ROLLED for (int n = 0; n < kTiles; ++n) {
    const MatrixSum<float> before = a.accumulate ? results.before.get(m, n) : MatrixSum<float>{};
    store_results<Half>(a, row_of, tensor_tile(tile, m, n, factors), results.sums.get(m, n),
                        before);
  }
}

/// Asks for the weights of all stages but the last.
template <gpu::WideKind kKind>
FORGE_DEVICE void fill_first_weights(const WideTile<kKind>& tile) {
  for (int stage = 0; stage < tile.kStages - 1; ++stage) fill_wide_weights(tile, stage);
  commit_copies();
}

/// The results of a block that has rows, whose first weights are on their way. factors:
/// [kTileRows].
template <class Half, class Tile, class Rows>
FORGE_DEVICE void make_wide_results(const gpu::TensorProduct& a, const Tile& tile,
                                    const Rows& row_of, sptr<float> factors) {
  for (int stage = 0; stage < Tile::kStages - 1; ++stage) {
    fill_wide_rows(tile, row_of, stage);
    commit_copies();
  }
  find_factors<Tile::kTileRows / (Tile::kThreads / kWarpSize)>(a, tile.rows, row_of, factors);
  WideSums<Tile> sums = {};
  multiply_wide<Half>(tile, row_of, sums);
  wait_copies<0>();
  sync_block();  // nobody reads the ring any more, and nothing arrives there
  if (!tile.warp_has_results()) return;
  const WideResults<Tile> results = results_in(tile, factors);
  park_tiles(a, tile, row_of, results, sums);
  FORGE_ROLLED for (int m = 0; m < WideSums<Tile>::kRowTiles; ++m) {
    if (tile.warp_row() + 16 * m < tile.rows) store_wide<Half>(a, tile, row_of, results, m);
  }
}

template <gpu::WideKind kKind>
FORGE_DEVICE WideTile<kKind> wide_tile(const gpu::ProjectWideArgs& args, sptr<std::uint16_t> ring) {
  const gpu::TensorProduct& a = args.product;
  return {.ring = ring,
          .x = global(static_cast<const std::uint16_t*>(a.x)),
          .weights = global(static_cast<const std::uint16_t*>(a.weights)),
          .inputs = a.inputs,
          .rows = 0,
          .first_column = block().y * args.tile_columns(),
          .columns = a.columns(),
          .up_distance = a.is_gated() ? a.columns() : 0};
}

/// Calls body(tile, half) with the block's tile, whose rows are not known yet, and as with_half.
template <class Body>
FORGE_DEVICE void with_wide_tile(const gpu::ProjectWideArgs& args, sptr<std::uint16_t> ring,
                                 const Body& body) {
  using enum gpu::WideKind;
  with_half(args.product.type, [&](auto half) {
    if (args.kind == large) return body(wide_tile<large>(args, ring), half);
    if (args.kind == small) return body(wide_tile<small>(args, ring), half);
    body(wide_tile<slim>(args, ring), half);
  });
}

/// The block's rows, from row_of.first on as far as there are any.
template <class Half, class Tile, class Rows>
FORGE_DEVICE void project_wide_tile(const gpu::TensorProduct& a, Tile tile, const Rows& row_of,
                                    sptr<float> factors) {
  fill_first_weights(tile);
  wait_for_previous();
  const int left = static_cast<int>(global(a.row_count)[0]) - row_of.first;
  tile.rows = left < Tile::kTileRows ? left : Tile::kTileRows;
  if (tile.rows <= 0) {
    wait_copies<0>();  // they must not arrive where another block is by then
    return;
  }
  make_wide_results<Half>(a, tile, row_of, factors);
}

FORGE_KERNEL(gpu::ProjectWideArgs::kThreads) project_wide(gpu::ProjectWideArgs args) {
  SIMT_SHARED_DYNAMIC(std::uint16_t, ring);
  SIMT_SHARED(float, factors, gpu::ProjectWideArgs::kRowsMax);
  start_next();
  with_wide_tile(args, ring, [&](auto tile, auto half) {
    const RowsInOrder row_of{block().x * tile.kTileRows};
    project_wide_tile<decltype(half)>(args.product, tile, row_of, factors);
  });
}

}  // namespace FORGE_KERNELS
