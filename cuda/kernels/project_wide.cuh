// project_wide: v = s x W^T + bias for 64 or 128 rows in a block, on tensor cores; what becomes of
// v is tensor_results.cuh.
//
//   grid      x: tiles of rows; y: tiles of outputs, or of half as many gates and their ups. Tiles
//             of rows run fastest: blocks that run side by side read the same weights, which come
//             from memory once, and x is small enough to stay in the L2 cache. A block has four
//             warps. A large one's have 64 rows and 64 outputs each:
//
//                 outputs   0 .. 63   64 .. 127
//              rows  0 ..   warp 0    warp 1
//                   64 ..   warp 2    warp 3
//
//             a small one's 32 and 32, a slim one's 16 and 32. A warp keeps its sums in registers,
//             up to 128 in a thread. Of gates and ups half the outputs of a warp are gates and half
//             their ups, so that it can gate them itself
//   memory    a ring of 96 KB (wide_tile.cuh), whose first weights are asked for before the launch
//             before has ended; then the sums, and what they are added to. Two blocks share a
//             multiprocessor: while the warps of one meet, those of the other multiply
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
#include "wide_tile.cuh"

namespace FORGE_KERNELS {
using namespace simt;

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
  ParkedTiles<Tile> before;  ///< y of a row of tiles, where they are added to it
  sptr<float> factors;       ///< s of the block's rows
};

/// Requires: nobody reads the ring any more, and nothing arrives there.
template <class Tile>
FORGE_DEVICE WideResults<Tile> results_in(const Tile& tile, sptr<float> factors) {
  using Parked = ParkedTiles<Tile>;
  constexpr int kTileNumbers = kWarpSize * Parked::kLaneNumbers;
  constexpr int kSums = Parked::kCount * kTileNumbers;
  constexpr int kNumbers = kSums + WideSums<Tile>::kOutputTiles * kTileNumbers;
  static_assert(kNumbers * Tile::kThreads / kWarpSize <= Tile::kStages * Tile::kStageNumbers);
  const Parked sums{tile.ring + warp() * kNumbers + lane() * Parked::kLaneNumbers};
  return {sums, {sums.at + kSums}, factors};
}

/// Tile m, n of the warp's, with its factors where they are known.
template <class Tile>
FORGE_DEVICE TensorTile tensor_tile(const Tile& tile, int m, int n,
                                    const RowFactors& factors = {}) {
  const int row = tile.warp_row() + 16 * m;
  return {row, tile.rows - row, tile.warp_column() + 8 * n, factors};
}

template <class Tile>
FORGE_DEVICE void park_sums_of(const WideResults<Tile>& results, const WideSums<Tile>& sums) {
  for (int m = 0; m < WideSums<Tile>::kRowTiles; ++m) {
    for (int n = 0; n < WideSums<Tile>::kOutputTiles; ++n) results.sums.put(m, n, sums.of[m][n]);
  }
}

/// Asks for y of row tile m at once.
template <class Tile, class Rows>
FORGE_DEVICE void park_before(const gpu::TensorProduct& a, const Tile& tile, const Rows& row_of,
                              const WideResults<Tile>& results, int m) {
  constexpr int kTiles = WideSums<Tile>::kOutputTiles;
  MatrixSum<float> before[kTiles];
  for (int n = 0; n < kTiles; ++n) before[n] = read_residual(a, row_of, tensor_tile(tile, m, n));
  for (int n = 0; n < kTiles; ++n) results.before.put(0, n, before[n]);
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
  if (a.accumulate) park_before(a, tile, row_of, results, m);
  FORGE_ROLLED for (int n = 0; n < kTiles; ++n) {
    const MatrixSum<float> before = a.accumulate ? results.before.get(0, n) : MatrixSum<float>{};
    store_results<Half>(a, row_of, tensor_tile(tile, m, n, factors), results.sums.get(m, n),
                        before);
  }
}

/// The results of a block that has rows, whose first weights are on their way. factors:
/// [kTileRows].
template <class Half, class Tile, class Rows>
FORGE_DEVICE void make_wide_results(const gpu::TensorProduct& a, const Tile& tile,
                                    WideWeights weights, const Rows& row_of, sptr<float> factors) {
  const WideRows<Tile> rows = find_wide_rows(tile, row_of);
  for (int stage = 0; stage < Tile::kStages; ++stage) {
    fill_wide_rows(tile, rows, stage, tile.stage_at(stage));
    commit_copies();
  }
  find_factors<Tile::kTileRows / (Tile::kThreads / kWarpSize)>(a, tile.rows, row_of, factors);
  WideSums<Tile> sums = {};
  if (tile.warp_has_results()) {
    multiply_wide<true, Half>(tile, weights, rows, sums);
  } else {
    multiply_wide<false, Half>(tile, weights, rows, sums);
  }
  wait_copies<0>();
  sync_block();  // nobody reads the ring any more, and nothing arrives there
  if (!tile.warp_has_results()) return;
  const WideResults<Tile> results = results_in(tile, factors);
  park_sums_of(results, sums);
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
  const WideWeights weights = fill_first_weights(tile);
  wait_for_previous();
  const int left = static_cast<int>(global(a.row_count)[0]) - row_of.first;
  tile.rows = left < Tile::kTileRows ? left : Tile::kTileRows;
  if (tile.rows <= 0) {
    wait_copies<0>();  // they must not arrive where another block is by then
    return;
  }
  make_wide_results<Half>(a, tile, weights, row_of, factors);
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
