// The products of a block of project_wide (project_wide.h): how x and weights come to shared
// memory, and from there to tensor cores.
//
// A ring has 3, 6 or 8 stages of 64 inputs, in rows of 128 bytes: those of x, then those of
// weights. 16 bytes c of row r are at c ^ (r % 8), so that the eight rows which load_matrix4 takes
// together have all banks. All stages are asked for before the first is waited for; the place of
// one that has been read is filled again at once. A thread copies one row in 16, whose place in
// memory it finds once: beside steps, the loop has few registers and few instructions.
#pragma once

#include "forge/gpu/kernels/project_wide.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

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
  static constexpr int kOutputs = kBlock.warp_outputs;
  static constexpr int kGates = kOutputs / 2;  // of a warp, where outputs are gated
  static constexpr int kWarpsAlongOutputs = kTileOutputs / kOutputs;
  static constexpr int kInputs = gpu::ProjectWideArgs::kStageInputs;
  static constexpr int kRowPieces = kInputs / 8;  // of 16 bytes
  static constexpr int kStageNumbers = (kTileRows + kTileOutputs) * kInputs;
  static constexpr int kRowsAtOnce = kThreads / kRowPieces;  // that all threads copy
  static_assert(kRowsAtOnce % 8 == 0 && kGates % kRowsAtOnce == 0);

  FORGE_DEVICE sptr<std::uint16_t> stage_at(int slot) const { return ring + slot * kStageNumbers; }
  FORGE_DEVICE sptr<std::uint16_t> after(sptr<std::uint16_t> stage) const {
    const sptr<std::uint16_t> next = stage + kStageNumbers;
    return next == stage_at(kStages) ? ring : next;
  }
  /// The rows of weights in a stage, which come after those of x.
  FORGE_DEVICE static sptr<std::uint16_t> weights_in(sptr<std::uint16_t> stage) {
    return stage + kTileRows * kInputs;
  }
  /// Where 16 bytes of a row are in a stage.
  FORGE_DEVICE static int place(int row, int piece) {
    return row * kInputs + (piece ^ row % 8) * 8;
  }

  /// Which column of the result row `row` of weights in a stage is for.
  FORGE_DEVICE int column_of(int row) const {
    if (up_distance == 0) return first_column + row;
    return first_column + row / kOutputs * kGates + row % kGates;
  }

  /// The warp's first row, of the block's.
  FORGE_DEVICE int warp_row() const { return warp() / kWarpsAlongOutputs * kRows; }
  /// The warp's first row of weights in a stage, and its first column of the result.
  FORGE_DEVICE int warp_output() const { return warp() % kWarpsAlongOutputs * kOutputs; }
  FORGE_DEVICE int warp_column() const { return column_of(warp_output()); }
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

/// A thread copies the same 16 bytes of one row in Tile::kRowsAtOnce.
template <class Tile>
struct WideCopy {
  static constexpr int kWeights = Tile::kTileOutputs / Tile::kRowsAtOnce;
  static constexpr int kRows = Tile::kTileRows / Tile::kRowsAtOnce;

  /// The first row, of x or of weights, and where its 16 bytes are in a stage.
  FORGE_DEVICE static int row() { return thread() / Tile::kRowPieces; }
  FORGE_DEVICE static int piece() { return thread() % Tile::kRowPieces; }
  FORGE_DEVICE static int place() { return Tile::place(row(), piece()); }
  /// What they begin with in stage number `stage`.
  FORGE_DEVICE static int input(int stage) { return stage * Tile::kInputs + piece() * 8; }
};

/// The weights that a thread copies.
struct WideWeights {
  gptr<const std::uint16_t> next;  ///< first of the next stage
  std::uint32_t are_there;         ///< bit i: copy i of a stage
};

template <class Tile>
FORGE_DEVICE WideWeights find_wide_weights(const Tile& tile) {
  using Copy = WideCopy<Tile>;
  std::uint32_t are_there = 0;
  for (int i = 0; i < Copy::kWeights; ++i) {
    const int column = tile.column_of(i * Tile::kRowsAtOnce) + Copy::row();
    if (column < tile.columns) are_there |= 1u << i;
  }
  const std::int64_t row = tile.first_column + Copy::row();
  return {tile.weights + row * tile.inputs + Copy::piece() * 8, are_there};
}

/// Asks for the weights of the next stage, whose number is `stage`.
template <class Tile>
FORGE_DEVICE void fill_wide_weights(const Tile& tile, WideWeights& weights, int stage,
                                    sptr<std::uint16_t> slot) {
  using Copy = WideCopy<Tile>;
  const bool is_gated = tile.up_distance > 0;
  const int inputs = tile.inputs;
  const int next_warp = (is_gated ? Tile::kGates : Tile::kOutputs) * inputs;
  const std::int64_t half_warp = std::int64_t{is_gated ? tile.up_distance : Tile::kGates} * inputs;
  const std::uint32_t are_there = Copy::input(stage) < inputs ? weights.are_there : 0;
  const sptr<std::uint16_t> to = tile.weights_in(slot) + Copy::place();
  for (int i = 0; i < Copy::kWeights; ++i) {
    const int output = i * Tile::kRowsAtOnce;
    const int of_warp = output % Tile::kOutputs;
    const gptr<const std::uint16_t> row = weights.next + output / Tile::kOutputs * next_warp +
                                          of_warp / Tile::kGates * half_warp +
                                          of_warp % Tile::kGates * inputs;
    copy_async(to + output * Tile::kInputs, row, (are_there >> i & 1) != 0);
  }
  weights.next += Tile::kInputs;
}

/// Asks for the weights of the first stages.
template <class Tile>
FORGE_DEVICE WideWeights fill_first_weights(const Tile& tile) {
  WideWeights weights = find_wide_weights(tile);
  for (int stage = 0; stage < Tile::kStages; ++stage) {
    fill_wide_weights(tile, weights, stage, tile.stage_at(stage));
  }
  commit_copies();
  return weights;
}

/// Where a thread's copies of x begin. That is found once, for rows may be anywhere.
template <class Tile>
struct WideRows {
  std::uint32_t first[WideCopy<Tile>::kRows];  ///< inputs of x before it, 8 together
};

template <class Tile, class Rows>
FORGE_DEVICE WideRows<Tile> find_wide_rows(const Tile& tile, const Rows& row_of) {
  using Copy = WideCopy<Tile>;
  WideRows<Tile> rows;
  for (int i = 0; i < Copy::kRows; ++i) {
    const int row = i * Tile::kRowsAtOnce + Copy::row();
    const std::int64_t source = row < tile.rows ? row_of.source(row) : 0;
    rows.first[i] = static_cast<std::uint32_t>(source * (tile.inputs / 8) + Copy::piece());
  }
  return rows;
}

template <class Tile>
FORGE_DEVICE void fill_wide_rows(const Tile& tile, const WideRows<Tile>& rows, int stage,
                                 sptr<std::uint16_t> slot) {
  using Copy = WideCopy<Tile>;
  const int are_there = Copy::input(stage) < tile.inputs ? tile.rows - Copy::row() : 0;
  const gptr<const std::uint16_t> x = tile.x + stage * Tile::kInputs;
  const sptr<std::uint16_t> to = slot + Copy::place();
  for (int i = 0; i < Copy::kRows; ++i) {
    const int row = i * Tile::kRowsAtOnce;
    copy_async(to + row * Tile::kInputs, x + std::uint64_t{rows.first[i]} * 8, row < are_there);
  }
}

// ---- Products -----------------------------------------------------------------------------------

/// What a step multiplies: rows in tiles of 16, outputs two tiles of 8 together.
template <class Tile>
struct WideFactors {
  MatrixA rows[WideSums<Tile>::kRowTiles];
  MatrixA outputs[WideSums<Tile>::kOutputTiles / 2];
};

template <class Tile>
FORGE_DEVICE WideFactors<Tile> load_factors(const Tile& tile, sptr<std::uint16_t> stage, int step) {
  using Sums = WideSums<Tile>;
  const sptr<const std::uint16_t> x = stage;
  const sptr<const std::uint16_t> weights = tile.weights_in(stage);
  const int row = tile.warp_row() + lane() % 16;
  const int output = tile.warp_output() + lane() / 16 * 8 + lane() % 8;
  WideFactors<Tile> factors;
  for (int i = 0; i < Sums::kOutputTiles / 2; ++i) {
    factors.outputs[i] =
        load_matrix4(weights + Tile::place(output + 16 * i, 2 * step + lane() / 8 % 2));
  }
  for (int m = 0; m < Sums::kRowTiles; ++m) {
    factors.rows[m] = load_matrix4(x + Tile::place(row + 16 * m, 2 * step + lane() / 16));
  }
  return factors;
}

template <class Half, class Tile>
FORGE_DEVICE void multiply_factors(const WideFactors<Tile>& factors, WideSums<Tile>& sums) {
  using Sums = WideSums<Tile>;
  for (int m = 0; m < Sums::kRowTiles; ++m) {
    for (int n = 0; n < Sums::kOutputTiles; ++n) {
      const MatrixA& two = factors.outputs[n / 2];
      const MatrixB output{{two.words[n % 2 * 2], two.words[n % 2 * 2 + 1]}};
      sums.of[m][n] = matrix_step<Half>(factors.rows[m], output, sums.of[m][n]);
    }
  }
}

/// All copies but the last kPending groups have arrived, whichever thread asked for them.
template <int kPending>
FORGE_DEVICE void meet_at_stage() {
  wait_copies<kPending>();
  sync_block();
}

/// The products of the warp's rows and outputs. Factors are loaded a step before they are
/// multiplied; those of a stage's last step are in registers when all warps meet, so that its place
/// can be filled again. A warp that has no results does nothing else.
template <bool kMultiplies, class Half, class Tile>
FORGE_DEVICE void multiply_wide(const Tile& tile, WideWeights weights, const WideRows<Tile>& rows,
                                WideSums<Tile>& sums) {
  constexpr int kStages = Tile::kStages;
  constexpr int kSteps = Tile::kInputs / 16;
  const int stages = (tile.inputs + Tile::kInputs - 1) / Tile::kInputs;
  sptr<std::uint16_t> slot = tile.ring;
  WideFactors<Tile> factors[2];
  meet_at_stage<kStages - 1>();
  if constexpr (kMultiplies) factors[0] = load_factors(tile, slot, 0);
  FORGE_ROLLED for (int stage = 0; stage < stages; ++stage) {
    if constexpr (kMultiplies) {
      for (int step = 1; step < kSteps; ++step) {
        factors[step % 2] = load_factors(tile, slot, step);
        multiply_factors<Half>(factors[(step - 1) % 2], sums);
      }
    }
    meet_at_stage<kStages - 2>();  // at the next one: nobody reads this one any more
    fill_wide_weights(tile, weights, stage + kStages, slot);
    fill_wide_rows(tile, rows, stage + kStages, slot);
    commit_copies();
    slot = tile.after(slot);
    if constexpr (kMultiplies) {
      factors[0] = load_factors(tile, slot, 0);
      multiply_factors<Half>(factors[(kSteps - 1) % 2], sums);
    }
  }
}

}  // namespace FORGE_KERNELS
