// project_narrow: v = s x W^T + bias for up to 16 rows in a block, on tensor cores; what becomes of
// v is tensor_results.cuh.
//
//   grid      x: tiles of 16 rows; y, then z: tiles of outputs, 8 for each warp, or 8 gates and
//             their 8 ups. Up to 4 rows a block has one warp, and else four, which share its rows
//   memory    a ring of 8 stages of 128 inputs, 4 of gates and ups, in rows of 256 bytes: x, then
//             the outputs of each warp. 16 bytes c of row r are at c ^ (r % 8), so that the eight
//             rows which load_matrix4 takes together have all banks. While half a stage is
//             multiplied the other half, or that of the next one, is loaded, and where a stage was
//             comes the one that is a ring ahead. Stages of weights are asked for before the launch
//             before has ended
//   next      the next launch may begin when the last stages have been asked for. Its blocks would
//             come to where there is room first, and the earlier, the less evenly: 4096 outputs of
//             14336 inputs took an H200 42 us where each launch let the next one begin at once, and
//             30 us where none did
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

/// What a warp multiplies, and where it lies. Its weights are kTiles tiles: one, or that of its
/// gates and that of their ups.
template <int kTiles>
struct NarrowTile {
  sptr<std::uint16_t> ring;
  gptr<const std::uint16_t> x;
  gptr<const std::uint16_t> weights;  ///< the first of the warp's outputs
  int inputs;                         ///< K
  int rows;                           ///< of x that are there, 1 .. 16; 0 before that is known
  int stage_rows;                     ///< of x, in a stage
  int up_distance;                    ///< rows of weights from a gate to its up
  int first_output;                   ///< of the warp
  bool is_there;                      ///< whether it has outputs

  static constexpr int kInputs = gpu::ProjectNarrowArgs::kStageInputs;
  static constexpr int kStages = gpu::ProjectNarrowArgs::stages(kTiles == 2);
  static constexpr int kTileOutputs = gpu::ProjectNarrowArgs::kTileOutputs;
  static constexpr int kWeightRows = kTiles * kTileOutputs;   // of a warp, in a stage
  static constexpr int kRowPieces = kInputs / 8;              // of 16 bytes
  static constexpr int kRowsAtOnce = kWarpSize / kRowPieces;  // that a warp copies

  FORGE_DEVICE int stage_size() const {
    return (stage_rows + threads() / kWarpSize * kWeightRows) * kInputs;
  }
  FORGE_DEVICE sptr<std::uint16_t> stage_after(sptr<std::uint16_t> stage) const {
    const sptr<std::uint16_t> next = stage + stage_size();
    return next == ring + kStages * stage_size() ? ring : next;
  }
  FORGE_DEVICE sptr<std::uint16_t> weights_of(sptr<std::uint16_t> stage) const {
    return stage + (stage_rows + warp() * kWeightRows) * kInputs;
  }
  /// Where 16 bytes of a row are in a stage.
  FORGE_DEVICE static int place(int row, int piece) {
    return row * kInputs + (piece ^ row % 8) * 8;
  }
};

template <int kTiles>
FORGE_DEVICE NarrowTile<kTiles> narrow_tile(const gpu::ProjectNarrowArgs& args,
                                            sptr<std::uint16_t> ring) {
  constexpr int kTileOutputs = NarrowTile<kTiles>::kTileOutputs;
  const gpu::TensorProduct& a = args.product;
  const int output_tile = first_output_tile() + warp();
  const gptr<const std::uint16_t> weights = global(static_cast<const std::uint16_t*>(a.weights));
  return {.ring = ring,
          .x = global(static_cast<const std::uint16_t*>(a.x)),
          .weights = weights + std::int64_t{output_tile} * kTileOutputs * a.inputs,
          .inputs = a.inputs,
          .rows = 0,
          .stage_rows = args.stage_rows(),
          .up_distance = a.outputs / 2,
          .first_output = output_tile * kTileOutputs,
          .is_there = output_tile < args.output_tiles()};
}

// ---- Copies -------------------------------------------------------------------------------------

/// The copies of weights by a lane, 16 bytes of some rows of its warp, one stage after the other.
template <int kTiles>
struct WeightCopies {
  using Tile = NarrowTile<kTiles>;

  gptr<const std::uint16_t> from;  ///< those of the first row, in the next stage
  int k;                           ///< the input that they begin with

  FORGE_DEVICE explicit WeightCopies(const Tile& tile) : k(lane() % Tile::kRowPieces * 8) {
    from = tile.weights + lane() / Tile::kRowPieces * tile.inputs + k;
  }

  /// Asks for those of the next stage.
  FORGE_DEVICE void fill(const Tile& tile, sptr<std::uint16_t> stage) {
    const sptr<std::uint16_t> to = tile.weights_of(stage);
    const bool is_there = tile.is_there && k < tile.inputs;
    for (int first = 0; first < Tile::kWeightRows; first += Tile::kRowsAtOnce) {
      const int output = first / Tile::kTileOutputs * tile.up_distance + first % Tile::kTileOutputs;
      copy_async(to + Tile::place(first + lane() / Tile::kRowPieces, lane() % Tile::kRowPieces),
                 from + std::int64_t{output} * tile.inputs, is_there);
    }
    from += Tile::kInputs;
    k += Tile::kInputs;
  }
};

/// The same of x by a thread. A block has threads enough that none of them has more than two rows.
template <class Tile>
struct RowCopies {
  static constexpr int kRows = gpu::ProjectNarrowArgs::kThreadRows;

  gptr<const std::uint16_t> from[kRows] = {};
  int k;

  template <class Rows>
  FORGE_DEVICE RowCopies(const Tile& tile, const Rows& row_of)
      : k(thread() % Tile::kRowPieces * 8) {
    for (int i = 0; i < kRows; ++i) {
      if (row(i) < tile.rows) from[i] = tile.x + row_of.source(row(i)) * tile.inputs + k;
    }
  }
  FORGE_DEVICE static int row(int i) { return (i * threads() + thread()) / Tile::kRowPieces; }

  FORGE_DEVICE void fill(const Tile& tile, sptr<std::uint16_t> stage) {
    for (int i = 0; i < kRows; ++i) {
      if (row(i) >= tile.rows) continue;
      copy_async(stage + Tile::place(row(i), thread() % Tile::kRowPieces), from[i],
                 k < tile.inputs);
      from[i] += Tile::kInputs;
    }
    k += Tile::kInputs;
  }
};

// ---- Products -----------------------------------------------------------------------------------

/// Half a stage, in registers.
template <int kTiles>
struct NarrowHalf {
  using Tile = NarrowTile<kTiles>;
  static constexpr int kSteps = Tile::kInputs / 16 / 2;
  MatrixA outputs[kTiles][kSteps / 2];  // of two steps each
  MatrixA rows[kSteps];

  FORGE_DEVICE void load(const Tile& tile, sptr<std::uint16_t> stage, int half) {
    const sptr<std::uint16_t> weights = tile.weights_of(stage);
    const sptr<std::uint16_t> x = stage;
    const int piece = half * kSteps * 2;
    for (int t = 0; t < kTiles; ++t) {
      for (int i = 0; i < kSteps / 2; ++i) {
        const int row = t * Tile::kTileOutputs + lane() % 8;
        outputs[t][i] = load_matrix4(weights + Tile::place(row, piece + 4 * i + lane() / 8));
      }
    }
    const int row = lane() % 16 < tile.rows ? lane() % 16 : 0;
    for (int step = 0; step < kSteps; ++step) {
      rows[step] = load_matrix4(x + Tile::place(row, piece + 2 * step + lane() / 16));
    }
  }

  template <class Half>
  FORGE_DEVICE void multiply(MatrixSum<float> (&sums)[kTiles]) const {
    for (int step = 0; step < kSteps; ++step) {
      for (int t = 0; t < kTiles; ++t) {
        const MatrixA& two = outputs[t][step / 2];
        const MatrixB factors{{two.words[step % 2 * 2], two.words[step % 2 * 2 + 1]}};
        sums[t] = matrix_step<Half>(rows[step], factors, sums[t]);
      }
    }
  }
};

/// The products of the block's rows and the warp's outputs. Steps of the tensor core wait for one
/// another; meanwhile the next half of a stage goes to registers and a later stage is asked for.
template <class Half, int kTiles>
FORGE_DEVICE void multiply_narrow(const NarrowTile<kTiles>& tile, WeightCopies<kTiles>& weights,
                                  RowCopies<NarrowTile<kTiles>>& rows,
                                  MatrixSum<float> (&sums)[kTiles]) {
  using Tile = NarrowTile<kTiles>;
  const int stages = (tile.inputs + Tile::kInputs - 1) / Tile::kInputs;
  NarrowHalf<kTiles> first;
  NarrowHalf<kTiles> second;
  sptr<std::uint16_t> stage = tile.ring;
  wait_copies<Tile::kStages - 1>();
  sync_block();
  first.load(tile, stage, 0);
  FORGE_ROLLED for (int i = 0; i < stages; ++i) {
    second.load(tile, stage, 1);
    first.template multiply<Half>(sums);
    wait_copies<Tile::kStages - 2>();
    sync_block();  // the next stage has arrived, and nobody reads this one any more
    weights.fill(tile, stage);
    rows.fill(tile, stage);
    commit_copies();
    if (i + Tile::kStages >= stages) start_next();  // this block asks for nothing more
    stage = tile.stage_after(stage);
    first.load(tile, stage, 0);  // zeros after the last one
    second.template multiply<Half>(sums);
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

/// Asks for the first stages of a matrix, as many as the ring has. Those of weights are one group
/// of copies, those of x have one each.
template <int kTiles>
FORGE_DEVICE void fill_ring(const NarrowTile<kTiles>& tile, WeightCopies<kTiles>& weights) {
  constexpr int kStages = NarrowTile<kTiles>::kStages;
  for (int i = 0; i < kStages; ++i) weights.fill(tile, tile.ring + i * tile.stage_size());
  commit_copies();
}

/// The results of a block that has rows, whose first weights are on their way.
template <class Half, int kTiles, class Rows>
FORGE_DEVICE void make_narrow_results(const gpu::TensorProduct& a, const NarrowTile<kTiles>& tile,
                                      const Rows& row_of, WeightCopies<kTiles>& weights) {
  RowCopies<NarrowTile<kTiles>> rows(tile, row_of);
  for (int i = 0; i < tile.kStages; ++i) {
    rows.fill(tile, tile.ring + i * tile.stage_size());
    commit_copies();
  }
  const RowFactors factors = narrow_factors(a, row_of, tile.rows);
  MatrixSum<float> sums[kTiles] = {};
  multiply_narrow<Half>(tile, weights, rows, sums);
  wait_copies<0>();
  if (!tile.is_there) return;
  const TensorTile results{0, tile.rows, tile.first_output, factors};
  if constexpr (kTiles == 2) {
    store_gated<Half>(a, row_of, results, sums[0], sums[1]);
  } else {
    store_results<Half>(a, row_of, results, sums[0], read_residual(a, row_of, results));
  }
}

/// Calls body(half, tile) with a number of the product's type and the warp's tile, whose rows are
/// not known yet.
template <class Body>
FORGE_DEVICE void with_narrow_tile(const gpu::ProjectNarrowArgs& args, sptr<std::uint16_t> ring,
                                   const Body& body) {
  with_half(args.product.type, [&](auto half) {
    if (args.product.is_gated()) return body(half, narrow_tile<2>(args, ring));
    return body(half, narrow_tile<1>(args, ring));
  });
}

template <class Half, int kTiles>
FORGE_DEVICE void project_narrow_tile(const gpu::TensorProduct& a, NarrowTile<kTiles> tile) {
  WeightCopies<kTiles> weights(tile);
  fill_ring(tile, weights);
  wait_for_previous();
  const RowsInOrder row_of{block().x * gpu::ProjectNarrowArgs::kTileRows};
  const int left = static_cast<int>(global(a.row_count)[0]) - row_of.first;
  tile.rows = left < tile.stage_rows ? left : tile.stage_rows;
  if (tile.rows <= 0) {
    wait_copies<0>();  // they must not arrive where another block is by then
    return;
  }
  make_narrow_results<Half>(a, tile, row_of, weights);
}

FORGE_KERNEL(gpu::ProjectNarrowArgs::kThreads) project_narrow(gpu::ProjectNarrowArgs args) {
  SIMT_SHARED_DYNAMIC(std::uint16_t, ring);
  if (first_output_tile() >= args.output_tiles()) return wait_for_previous();
  with_narrow_tile(args, ring, [&](auto half, auto tile) {
    project_narrow_tile<decltype(half)>(args.product, tile);
  });
}

}  // namespace FORGE_KERNELS
