// Products of rows and weights of codes on tensor cores, as project_codes_narrow and
// project_codes_wide have them: each output is a chain over the groups of 32 inputs
// (linear/product.h), of which a step of the tensor core adds the 32 products.
//
// A is 16 rows, B 8 outputs: of each a lane takes quads lane % 4 and lane % 4 + 4 of a group
// (simt/matrix.h), and gets the sums of rows lane / 4 and lane / 4 + 8, and of outputs 2 (lane % 4)
// and the next one. Kinds whose halves have scales of their own take a step for each half, the
// other being zeros.
#pragma once

#include "code_quads.cuh"
#include "code_ring.cuh"
#include "code_scales.cuh"
#include "forge/numerics/canonical.h"
#include "tensor_results.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// The sums of a warp: [panels][tiles of 8 outputs][tiles of 16 rows].
template <class Shape>
struct CodeSums {
  MatrixSum<float> of[Shape::kPanels][Shape::kTiles][Shape::kRowTiles];
};

/// What a group of a row is multiplied by, beside its codes (gpu::RowGroup).
struct RowTerms {
  std::int32_t sums[2];
  float scale;
  float scaled_sum;

  static FORGE_DEVICE RowTerms of(sptr<const std::uint32_t> group) {
    const Words4 words = load16(group + linear::codes::kQuads);
    return {{static_cast<std::int32_t>(words.x), static_cast<std::int32_t>(words.y)},
            numerics::float_of(words.z),
            numerics::float_of(words.w)};
  }
};

/// Sixteen rows of a group: what the tensor core takes, and those of this lane. Where only eight
/// are there, nothing is done about the second.
struct RowsOfGroup {
  MatrixA codes;
  RowTerms first;
  RowTerms second;
  bool has_second;
};

/// From row first_row on. Rows that are not there repeat the first of the block.
template <class Stage>
FORGE_DEVICE RowsOfGroup rows_of_group(const Stage& stage, int g, int first_row, int rows) {
  const auto group_of = [&](int row) {
    return stage.row(row < rows ? row : 0) + g * kRowGroupWords;
  };
  RowsOfGroup of{.codes = load_matrix4(group_of(first_row + lane() % 16) + lane() / 16 * 4),
                 .first = RowTerms::of(group_of(first_row + lane() / 4)),
                 .second = {},
                 .has_second = first_row + 8 < rows};
  if (of.has_second) of.second = RowTerms::of(group_of(first_row + lane() / 4 + 8));
  return of;
}

/// A chain, continued by a group: sums of its halves, or of all of it in the first.
template <linear::PanelKind kKind>
FORGE_DEVICE float with_group(float chain, std::int32_t first, std::int32_t second,
                              const GroupScales& scales, const RowTerms& row) {
  std::int32_t sum = 0;
  if constexpr (linear::has_half_scales(kKind)) {
    sum = scales.half_scales[0] * (first - scales.offset * row.sums[0]) +
          scales.half_scales[1] * (second - scales.offset * row.sums[1]);
  } else {
    sum = first - scales.offset * (row.sums[0] + row.sums[1]);
  }
  chain = numerics::fma(static_cast<float>(sum), scales.step * row.scale, chain);
  if constexpr (linear::has_minima(kKind)) {
    float low_sum = row.scaled_sum;
    if constexpr (kKind == linear::PanelKind::q2_k) {
      const std::int32_t low =
          scales.half_mins[0] * row.sums[0] + scales.half_mins[1] * row.sums[1];
      low_sum = row.scale * static_cast<float>(low);
    }
    chain = numerics::fma(scales.minus_minimum, low_sum, chain);
  }
  return chain;
}

/// Eight outputs of a group: what the tensor core takes, and the scales of this lane's two.
struct OutputsOfGroup {
  MatrixB codes;
  GroupScales first;
  GroupScales second;
};

template <linear::PanelKind kKind, class Stage>
FORGE_DEVICE OutputsOfGroup outputs_of_group(const Stage& stage, int p, int g, int first_output) {
  const sptr<const std::uint32_t> head = stage.panel(p);
  const sptr<const std::uint32_t> group = stage.group(p, g);
  CodeTable table;
  if constexpr (kKind == linear::PanelKind::table4) table = CodeTable::of(head);
  const TwoQuads quads = two_quads<kKind>(
      [&](int line) {
        const std::uint32_t word = group[place_in_line(line, first_output + lane() / 4)];
        return word;
      },
      lane() % 4, table);
  const int output = first_output + lane() % 4 * 2;
  return {{{quads.first, quads.second}},
          group_scales<kKind>(SharedArrays{group, output}, SharedArrays{head, output}),
          group_scales<kKind>(SharedArrays{group, output + 1}, SharedArrays{head, output + 1})};
}

/// The sums of a tile, continued by a group.
template <linear::PanelKind kKind>
FORGE_DEVICE void add_group(const RowsOfGroup& rows, const OutputsOfGroup& outputs,
                            MatrixSum<float>& sums) {
  MatrixSum<std::int32_t> first{};
  MatrixSum<std::int32_t> second{};
  if constexpr (linear::has_half_scales(kKind)) {
    first = matrix_step<std::int8_t>(rows.codes, {{outputs.codes.words[0], 0}}, first);
    second = matrix_step<std::int8_t>(rows.codes, {{0, outputs.codes.words[1]}}, second);
  } else {
    first = matrix_step<std::int8_t>(rows.codes, outputs.codes, first);
  }
  const auto add = [&](int i, const GroupScales& scales, const RowTerms& row) {
    sums.at[i] = with_group<kKind>(sums.at[i], first.at[i], second.at[i], scales, row);
  };
  add(0, outputs.first, rows.first);
  add(1, outputs.second, rows.first);
  if (!rows.has_second) return;
  add(2, outputs.first, rows.second);
  add(3, outputs.second, rows.second);
}

/// Where a warp's rows and outputs begin.
template <class Shape>
struct CodeWarp {
  static FORGE_DEVICE int row() {
    return warp() / Shape::kWarpsAlongOutputs * Shape::kRowTiles * 16;
  }
  /// Of a panel.
  static FORGE_DEVICE int output() {
    return warp() % Shape::kWarpsAlongOutputs * Shape::kTiles * 8;
  }
};

/// Adds the products of a group.
template <linear::PanelKind kKind, class Shape>
FORGE_DEVICE void multiply_group(const CodeStage<Shape>& stage, int g, int rows_there,
                                 CodeSums<Shape>& sums) {
  RowsOfGroup rows[Shape::kRowTiles];
  FORGE_UNROLLED for (int m = 0; m < Shape::kRowTiles; ++m) {
    rows[m] = rows_of_group(stage, g, CodeWarp<Shape>::row() + 16 * m, rows_there);
  }
  FORGE_UNROLLED for (int p = 0; p < Shape::kPanels; ++p) {
    FORGE_UNROLLED for (int t = 0; t < Shape::kTiles; ++t) {
      const OutputsOfGroup outputs =
          outputs_of_group<kKind>(stage, p, g, CodeWarp<Shape>::output() + 8 * t);
      FORGE_UNROLLED for (int m = 0; m < Shape::kRowTiles; ++m) {
        add_group<kKind>(rows[m], outputs, sums.of[p][t][m]);
      }
    }
  }
}

/// Adds the products of a stage, which has so many groups. A warp of one tile has several of them
/// under way at once; one of many has enough to do with each.
template <class Shape>
struct MultiplyCodeStage {
  const CodeTile& tile;
  int slot;
  int groups;
  CodeSums<Shape>& sums;

  template <linear::PanelKind kKind>
  FORGE_DEVICE void operator()(CodeKind<kKind> /*of*/) const {
    const auto stage = code_stage<Shape>(tile, slot);
    if constexpr (Shape::kRowTiles == 1) {
      for (int g = 0; g < groups; ++g) multiply_group<kKind>(stage, g, tile.rows, sums);
    } else {
      FORGE_ROLLED for (int g = 0; g < groups; ++g) {
        multiply_group<kKind>(stage, g, tile.rows, sums);
      }
    }
  }
};

/// Asks for the weights of all stages but the last.
template <class Shape>
FORGE_DEVICE void fill_first_codes(const CodeTile& tile) {
  FORGE_ROLLED for (int stage = 0; stage < tile.stages - 1; ++stage) {
    fill_codes<Shape>(tile, stage, stage);
  }
  commit_copies();
}

/// The products of the warp's rows and outputs, whose first weights are on their way. A warp that
/// has no rows helps to fill the ring. Nothing is on its way at the end: there is no stage after
/// the last.
template <class Shape, class Rows>
FORGE_DEVICE void multiply_code_rows(const CodeTile& tile, const Rows& row_of,
                                     CodeSums<Shape>& sums) {
  FORGE_ROLLED for (int stage = 0; stage < tile.stages - 1; ++stage) {
    fill_code_rows<Shape>(tile, row_of, stage, stage);
    commit_copies();
  }
  const bool has_rows = CodeWarp<Shape>::row() < tile.rows;
  FORGE_ROLLED for (int stage = 0; stage * Shape::kGroups < tile.groups; ++stage) {
    wait_copies_but<gpu::kCodeStagesMax - 2>(tile.stages - 2);
    sync_block();  // the stage has arrived, and nobody reads the one before it any more
    const int ahead = stage + tile.stages - 1;
    fill_codes<Shape>(tile, ahead, ahead % tile.stages);
    fill_code_rows<Shape>(tile, row_of, ahead, ahead % tile.stages);
    commit_copies();
    if (!has_rows) continue;
    with_code_kind(tile.kind, MultiplyCodeStage<Shape>{tile, stage % tile.stages,
                                                       groups_of<Shape>(tile, stage), sums});
  }
}

}  // namespace FORGE_KERNELS
