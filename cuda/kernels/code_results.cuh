// What becomes of the sums of project_codes_* and project_experts_codes_* (tensor_results.cuh).
#pragma once

#include "code_chains.cuh"
#include "half_rows.cuh"
#include "tensor_results.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// Sums of a warp in shared memory, where each lane finds its own again. Registers have no index
/// that is known only when the kernel runs; from here one tile after the other goes through the
/// same instructions.
template <class Shape>
struct ParkedSums {
  static constexpr int kTiles = Shape::kPanels * Shape::kTiles * Shape::kRowTiles;
  static constexpr int kWords = kTiles * kWarpSize * 4;  // of a warp

  sptr<std::uint32_t> at;

  /// Requires: nobody reads the ring any more, and nothing arrives there.
  static FORGE_DEVICE ParkedSums in(sptr<std::uint32_t> ring) {
    return {ring + warp() * kWords + lane() * 4};
  }
  FORGE_DEVICE sptr<std::uint32_t> place(int p, int t, int m) const {
    return at + ((p * Shape::kTiles + t) * Shape::kRowTiles + m) * kWarpSize * 4;
  }
  FORGE_DEVICE void put(const CodeSums<Shape>& sums) const {
    FORGE_UNROLLED for (int p = 0; p < Shape::kPanels; ++p) {
      FORGE_UNROLLED for (int t = 0; t < Shape::kTiles; ++t) {
        FORGE_UNROLLED for (int m = 0; m < Shape::kRowTiles; ++m) {
          park_sums(place(p, t, m), sums.of[p][t][m]);
        }
      }
    }
  }
  FORGE_DEVICE MatrixSum<float> get(int p, int t, int m) const {
    return parked_sums(place(p, t, m));
  }
};

/// What a warp makes its results of.
template <class Shape>
struct CodeResults {
  ParkedSums<Shape> sums;
  sptr<float> factors;  ///< s of the block's rows
};

/// Stores what a warp has made.
template <class Half, class Shape, class Rows>
FORGE_DEVICE void store_codes(const gpu::TensorProduct& a, const CodeTile& tile, const Rows& row_of,
                              const CodeResults<Shape>& of) {
  constexpr int kTiles = Shape::kTiles * Shape::kRowTiles;
  FORGE_ROLLED for (int i = 0; i < kTiles; ++i) {
    const int t = i / Shape::kRowTiles;
    const int m = i % Shape::kRowTiles;
    const int row = CodeWarp<Shape>::row() + 16 * m;
    if (row >= tile.rows) continue;
    const RowFactors factors{of.factors[row + lane() / 4], of.factors[row + lane() / 4 + 8]};
    const int output = tile.first_panel * linear::kPanelOutputs + CodeWarp<Shape>::output() + 8 * t;
    TensorTile results{row, tile.rows - row, output, factors};
    if (a.is_gated()) {
      if constexpr (Shape::kPanels == 2) {
        store_gated<Half>(a, row_of, results, of.sums.get(0, t, m), of.sums.get(1, t, m));
      }
      continue;
    }
    FORGE_ROLLED for (int p = 0; p < Shape::kPanels; ++p) {
      store_results<Half>(a, row_of, results, of.sums.get(p, t, m),
                          read_residual(a, row_of, results));
      results.first_output += linear::kPanelOutputs;
    }
  }
}

/// The results of a block that has rows, whose first weights are on their way. If outputs are not
/// gated, the block's panels are neighbours. factors: [kTileRows].
template <class Shape, class Rows>
FORGE_DEVICE void make_code_results(const gpu::TensorProduct& a, const CodeTile& tile,
                                    const Rows& row_of, sptr<float> factors) {
  find_factors<Shape::kTileRows / Shape::kWarps>(a, tile.rows, row_of, factors);
  CodeSums<Shape> sums = {};
  multiply_code_rows(tile, row_of, sums);
  sync_block();  // nobody reads the ring any more, and nothing arrives there
  if (CodeWarp<Shape>::row() >= tile.rows) return;
  const CodeResults<Shape> results{ParkedSums<Shape>::in(tile.ring), factors};
  results.sums.put(sums);
  with_half(a.type, [&](auto half) { store_codes<decltype(half)>(a, tile, row_of, results); });
}

/// A block's tile, but for its rows. panel, next: indices of its first panel and of the one after.
FORGE_DEVICE CodeTile code_tile(const gpu::CodeProduct& codes, sptr<std::uint32_t> ring,
                                std::int64_t panel, std::int64_t next, int panels) {
  const gpu::TensorProduct& a = codes.product;
  const auto words =
      static_cast<std::int64_t>(linear::codes::panel_bytes(codes.kind, a.inputs)) / 4;
  const gptr<const std::uint32_t> weights = global(static_cast<const std::uint32_t*>(a.weights));
  return {.ring = ring,
          .x = global(static_cast<const std::uint32_t*>(a.x)),
          .weights = weights + panel * words,
          .panel_distance = (next - panel) * words,
          .first_panel = static_cast<int>(panel),
          .layout = CodeLayout::of(codes.kind),
          .kind = codes.kind,
          .panels = panels,
          .groups = linear::codes::group_count(a.inputs),
          .rows = 0,
          .stage_rows = 0,
          .stages = 0};
}

/// Waits for the launch before, and says which rows the block has. Without rows nothing may be on
/// its way when it returns: it must not arrive where another block is by then.
FORGE_DEVICE int rows_of_block(const gpu::TensorProduct& a, int first, int most) {
  wait_for_previous();
  const int left = static_cast<int>(global(a.row_count)[0]) - first;
  if (left <= 0) wait_copies<0>();
  return left < most ? left : most;
}

}  // namespace FORGE_KERNELS
