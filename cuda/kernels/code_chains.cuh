// Products of rows and weights of codes on tensor cores, as project_codes_narrow and
// project_codes_wide have them: each output is a chain over the groups of 32 inputs
// (linear/product.h), of which a step of the tensor core adds the 32 products.
//
// A is 16 rows, B 8 outputs: of each a lane takes quads lane % 4 and lane % 4 + 4 of a group
// (simt/matrix.h), and gets the sums of rows lane / 4 and lane / 4 + 8, and of columns 2 (lane % 4)
// and the next one. Which output a column is may be chosen: with T tiles, column n of tile t is
// output T n + t of the warp. So a lane's words of all tiles are neighbours, which it loads at
// once, and so are the outputs that it has sums of.
//
// Kinds whose halves have scales of their own take a step for each half, the other being zeros.
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
  MatrixSum<float> of[Shape::kWarpPanels][Shape::kTiles][Shape::kRowTiles];
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

/// Sixteen rows of a group: what the tensor core takes, and those of this lane.
struct RowsOfGroup {
  MatrixA codes;
  RowTerms first;
  RowTerms second;
};

/// Where the rows and outputs begin of a warp that multiplies.
template <class Shape>
struct CodeWarp {
  static FORGE_DEVICE int index() { return warp() - Shape::kCopyWarps; }
  static FORGE_DEVICE int row() {
    return index() / Shape::kWarpsAlongOutputs * Shape::kRowTiles * 16;
  }
  static FORGE_DEVICE int panel() {
    return index() % Shape::kWarpsAlongOutputs / Shape::kWarpsOfPanel * Shape::kWarpPanels;
  }
  /// Of a panel.
  static FORGE_DEVICE int output() { return index() % Shape::kWarpsOfPanel * Shape::kTiles * 8; }
};

/// Where the rows of a lane are in a stage: of a tile that which it loads for the tensor core, and
/// its own two. Rows that are not there repeat the first of the block.
template <class Shape>
struct LaneRows {
  int loaded[Shape::kRowTiles];
  int first[Shape::kRowTiles];
  int second[Shape::kRowTiles];

  static FORGE_DEVICE LaneRows of(int rows) {
    const auto place = [&](int row) { return (row < rows ? row : 0) * Shape::kRowWords; };
    LaneRows of;
    FORGE_UNROLLED for (int m = 0; m < Shape::kRowTiles; ++m) {
      const int row = CodeWarp<Shape>::row() + 16 * m;
      of.loaded[m] = place(row + lane() % 16) + lane() / 16 * 4;
      of.first[m] = place(row + lane() / 4);
      of.second[m] = place(row + lane() / 4 + 8);
    }
    return of;
  }
  FORGE_DEVICE RowsOfGroup group(sptr<const std::uint32_t> rows, int m, int g) const {
    const sptr<const std::uint32_t> at = rows + g * kRowGroupWords;
    return {load_matrix4(at + loaded[m]), RowTerms::of(at + first[m]),
            RowTerms::of(at + second[m])};
  }
};

/// The sum of a group, given those of its halves, or of all of it in the first.
template <linear::PanelKind kKind>
FORGE_DEVICE std::int32_t group_sum(std::int32_t first, std::int32_t second,
                                    const GroupScales& scales, const RowTerms& row) {
  if constexpr (linear::has_half_scales(kKind)) {
    return scales.half_scales[0] * (first - scales.offset * row.sums[0]) +
           scales.half_scales[1] * (second - scales.offset * row.sums[1]);
  } else {
    return first - scales.offset * (row.sums[0] + row.sums[1]);
  }
}

/// Of a group whose halves have minima of their own: the sum of a times them.
FORGE_DEVICE std::int32_t low_sum(const GroupScales& scales, const RowTerms& row) {
  return scales.half_mins[0] * row.sums[0] + scales.half_mins[1] * row.sums[1];
}

/// A chain, continued by a group: sums of its halves, or of all of it in the first.
template <linear::PanelKind kKind>
FORGE_DEVICE float with_group(float chain, std::int32_t first, std::int32_t second,
                              const GroupScales& scales, const RowTerms& row) {
  const std::int32_t sum = group_sum<kKind>(first, second, scales, row);
  chain = numerics::fma(static_cast<float>(sum), scales.step * row.scale, chain);
  if constexpr (linear::has_minima(kKind)) {
    float of_minimum = row.scaled_sum;
    if constexpr (kKind == linear::PanelKind::q2_k) {
      of_minimum = row.scale * static_cast<float>(low_sum(scales, row));
    }
    chain = numerics::fma(scales.minus_minimum, of_minimum, chain);
  }
  return chain;
}

/// Eight outputs of a group: what the tensor core takes, and the scales of this lane's two.
struct OutputsOfGroup {
  MatrixB codes;
  GroupScales first;
  GroupScales second;
};

/// Word `next` of a line of this lane's outputs of kTiles tiles.
template <int kTiles>
FORGE_DEVICE std::uint32_t word_of_line(sptr<const std::uint32_t> group, int place, int next) {
  if constexpr (kTiles == 4) {
    const Words4 words = load16(group + place);
    return next == 0 ? words.x : next == 1 ? words.y : next == 2 ? words.z : words.w;
  } else {
    const std::uint32_t word = group[place + next];
    return word;
  }
}

/// Tile t of the warp.
template <linear::PanelKind kKind, class Shape>
FORGE_DEVICE OutputsOfGroup outputs_of_group(const CodeStage<Shape, kKind>& stage, int p, int g,
                                             int t) {
  constexpr int kTiles = Shape::kTiles;
  const sptr<const std::uint32_t> head = stage.panel(p);
  const sptr<const std::uint32_t> group = stage.group(p, g);
  const int first = CodeWarp<Shape>::output();
  CodeTable table;
  if constexpr (kKind == linear::PanelKind::table4) table = CodeTable::of(head);
  const TwoQuads quads = two_quads<kKind>(
      [&](int line) {
        return word_of_line<kTiles>(group, place_in_line(line, first + lane() / 4 * kTiles), t);
      },
      lane() % 4, table);
  const int output = first + lane() % 4 * 2 * kTiles;
  return {{{quads.first, quads.second}},
          group_scales<kKind>(SharedArrays{group, output, t}, SharedArrays{head, output, t}),
          group_scales<kKind>(SharedArrays{group, output, t + kTiles},
                              SharedArrays{head, output, t + kTiles})};
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
  add(2, outputs.first, rows.second);
  add(3, outputs.second, rows.second);
}

/// Adds the products of a group.
template <linear::PanelKind kKind, class Shape>
FORGE_DEVICE void multiply_group(const CodeStage<Shape, kKind>& stage, int g,
                                 const LaneRows<Shape>& lane_rows, CodeSums<Shape>& sums) {
  RowsOfGroup rows[Shape::kRowTiles];
  FORGE_UNROLLED for (int m = 0; m < Shape::kRowTiles; ++m) {
    rows[m] = lane_rows.group(stage.rows(), m, g);
  }
  FORGE_UNROLLED for (int p = 0; p < Shape::kWarpPanels; ++p) {
    FORGE_UNROLLED for (int t = 0; t < Shape::kTiles; ++t) {
      const OutputsOfGroup outputs =
          outputs_of_group<kKind>(stage, CodeWarp<Shape>::panel() + p, g, t);
      FORGE_UNROLLED for (int m = 0; m < Shape::kRowTiles; ++m) {
        add_group<kKind>(rows[m], outputs, sums.of[p][t][m]);
      }
    }
  }
}

/// Adds the products of a stage, which has so many groups. A warp of one tile of rows has all of
/// them under way at once; one of more has enough to do with each.
template <class Shape, linear::PanelKind kKind>
FORGE_DEVICE void multiply_stage(const CodeStage<Shape, kKind>& stage, int groups,
                                 const LaneRows<Shape>& lane_rows, CodeSums<Shape>& sums) {
  constexpr bool kAreWhole = CodeLayout<kKind>::kHasBlocks;  // all stages
  if (Shape::kRowTiles == 1 && (kAreWhole || groups == Shape::kGroups)) {
    FORGE_UNROLLED for (int g = 0; g < Shape::kGroups; ++g) {
      multiply_group<kKind>(stage, g, lane_rows, sums);
    }
  } else {
    FORGE_ROLLED for (int g = 0; g < groups; ++g) {
      multiply_group<kKind>(stage, g, lane_rows, sums);
    }
  }
}

/// Asks for the weights of all stages but the last.
template <class Shape>
struct FillFirstCodes {
  const CodeTile& tile;

  template <linear::PanelKind kKind>
  FORGE_DEVICE void operator()(CodeKind<kKind> /*of*/) const {
    FORGE_ROLLED for (int stage = 0; stage < tile.stages - 1; ++stage) {
      fill_codes<Shape, kKind>(tile, stage, stage);
    }
    commit_copies();
  }
};

template <class Shape>
FORGE_DEVICE void fill_first_codes(const CodeTile& tile) {
  if (Shape::copies()) with_code_kind(tile.kind, FillFirstCodes<Shape>{tile});
}

/// Sums of a block in shared memory: [kTileRows][kPanels][32], a row being nine words longer, so
/// that what a warp puts there has all banks. There each warp finds tiles of eight neighbours,
/// whichever warps have made them.
template <class Shape>
struct ParkedSums {
  static constexpr int kRowWords = Shape::kPanels * linear::kPanelOutputs + 9;

  sptr<std::uint32_t> at;

  /// Those of this lane.
  FORGE_DEVICE void put(const CodeSums<Shape>& sums) const {
    constexpr int kOutputs = 2 * Shape::kTiles;
    FORGE_UNROLLED for (int p = 0; p < Shape::kWarpPanels; ++p) {
      const int first = (CodeWarp<Shape>::panel() + p) * linear::kPanelOutputs +
                        CodeWarp<Shape>::output() + lane() % 4 * kOutputs;
      FORGE_UNROLLED for (int i = 0; i < 2 * Shape::kRowTiles; ++i) {
        const int row = CodeWarp<Shape>::row() + lane() / 4 + 8 * i;
        const sptr<std::uint32_t> to = at + row * kRowWords + first;
        FORGE_UNROLLED for (int n = 0; n < kOutputs; ++n) {
          const auto& tile = sums.of[p][n % Shape::kTiles][i / 2];
          to[n] = numerics::bits_of(tile.at[i % 2 * 2 + n / Shape::kTiles]);
        }
      }
    }
  }
  /// A lane's share of the 16 rows and 8 outputs from there on.
  FORGE_DEVICE MatrixSum<float> get(int row, int output) const {
    MatrixSum<float> sums;
    FORGE_UNROLLED for (int i = 0; i < 4; ++i) {
      const int at_row = row + lane() / 4 + i / 2 * 8;
      const std::uint32_t word = at[at_row * kRowWords + output + lane() % 4 * 2 + i % 2];
      sums.at[i] = numerics::float_of(word);
    }
    return sums;
  }
};

/// Multiplies the block's rows and outputs, of which the first stages are on their way, and parks
/// the sums in the ring.
template <class Shape>
struct MultiplyCodes {
  const CodeTile& tile;
  const CodeRowCopies<Shape>& copies;

  template <linear::PanelKind kKind>
  FORGE_DEVICE void operator()(CodeKind<kKind> /*of*/) const {
    CodeSums<Shape> sums = {};
    const bool multiplies = Shape::multiplies() && CodeWarp<Shape>::row() < tile.rows;
    const auto lane_rows = LaneRows<Shape>::of(tile.rows);
    const int last = tile.stages - 1;
    int slot = 0;
    FORGE_ROLLED for (int stage = 0; stage * Shape::kGroups < tile.groups; ++stage) {
      wait_copies_but<gpu::kCodeStagesMax - 2>(tile.stages - 2);
      sync_block();  // the stage has arrived, and nobody reads the one before it any more
      const int free = slot == 0 ? last : slot - 1;
      if (Shape::copies()) {
        fill_codes<Shape, kKind>(tile, stage + last, free);
        copies.fill(tile, stage + last, free);
        commit_copies();
      }
      if (multiplies) {
        multiply_stage<Shape>(CodeStage<Shape, kKind>::of(tile, slot),
                              groups_of<Shape>(tile, stage), lane_rows, sums);
      }
      slot = slot == last ? 0 : slot + 1;
    }
    sync_block();  // nobody reads the ring any more, and nothing arrives there
    if (multiplies) ParkedSums<Shape>{tile.ring}.put(sums);
  }
};

}  // namespace FORGE_KERNELS
