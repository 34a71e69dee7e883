// What becomes of the sums of project_codes_* and project_experts_codes_* (tensor_results.cuh).
#pragma once

#include "code_chains.cuh"
#include "half_rows.cuh"
#include "tensor_results.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// Stores the results of the block's sums: a warp takes tiles of 16 rows and 8 outputs.
template <class Half, class Shape, class Rows>
FORGE_DEVICE void store_codes(const gpu::TensorProduct& a, const CodeTile& tile, const Rows& row_of,
                              sptr<float> factors) {
  const ParkedSums<Shape> sums{tile.ring};
  const int outputs = Shape::kPanels * linear::kPanelOutputs / (a.is_gated() ? 2 : 1);
  const int tiles = outputs / 8;
  FORGE_ROLLED for (int i = warp(); i < Shape::kTileRows / 16 * tiles; i += Shape::kAllWarps) {
    const int row = i / tiles * 16;
    const int output = i % tiles * 8;
    if (row >= tile.rows) return;
    const RowFactors of_lane{factors[row + lane() / 4], factors[row + lane() / 4 + 8]};
    const TensorTile results{row, tile.rows - row,
                             tile.first_panel * linear::kPanelOutputs + output, of_lane};
    if (a.is_gated()) {
      store_gated<Half>(a, row_of, results, sums.get(row, output), sums.get(row, outputs + output));
    } else {
      store_results<Half>(a, row_of, results, sums.get(row, output),
                          read_residual(a, row_of, results));
    }
  }
}

/// The results of a block that has rows, whose first weights are on their way. factors:
/// [kTileRows].
template <class Shape, class Rows>
FORGE_DEVICE void make_code_results(const gpu::TensorProduct& a, const CodeTile& tile,
                                    const Rows& row_of, sptr<float> factors) {
  const auto copies = CodeRowCopies<Shape>::of(tile, row_of);
  if (Shape::copies()) copies.fill_first(tile);
  find_factors<Shape::kTileRows / Shape::kAllWarps>(a, tile.rows, row_of, factors);
  with_code_kind(tile.kind, MultiplyCodes<Shape>{tile, copies});
  sync_block();  // all sums are parked
  with_half(a.type,
            [&](auto half) { store_codes<decltype(half), Shape>(a, tile, row_of, factors); });
}

/// A block's tile, but for its rows, from a panel on.
template <class Shape>
FORGE_DEVICE CodeTile code_tile(const gpu::CodeProduct& codes, sptr<std::uint32_t> ring,
                                std::int64_t panel, int stage_rows, int stages) {
  const gpu::TensorProduct& a = codes.product;
  const auto words =
      static_cast<std::int64_t>(linear::codes::panel_bytes(codes.kind, a.inputs)) / 4;
  const int rows_at = Shape::kPanels * gpu::code_panel_bytes(codes.kind, Shape::kGroups) / 4;
  return {.ring = ring,
          .x = global(static_cast<const std::uint32_t*>(a.x)),
          .weights = global(static_cast<const std::uint32_t*>(a.weights)) + panel * words,
          .panel_words = words,
          .first_panel = static_cast<int>(panel),
          .ups = a.is_gated() ? codes.panels() : 0,
          .panels = codes.panels() - static_cast<int>(panel),
          .kind = codes.kind,
          .groups = linear::codes::group_count(a.inputs),
          .rows = 0,
          .stages = stages,
          .stage_words = rows_at + stage_rows * Shape::kRowWords,
          .rows_at = rows_at};
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
