// The ring of project_codes_* and project_experts_codes_*: stages of some groups of a block's
// panels and rows (code_product.h).
//
// A lane takes quads lane % 4 and lane % 4 + 4 of output lane / 4 of a tile of eight: words of
// eight outputs in four lines, which lie 128 bytes apart. So line l begins 32 l bytes further, and
// what would not fit comes first: the 32 words have all banks.
#pragma once

#include "forge/gpu/kernels/code_product.h"
#include "forge/linear/code_layout.h"
#include "forge/simt/dialect.h"
#include "widen.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// What a warp of a block makes of it: of each of kPanels panels kTiles tiles of 8 outputs, for
/// kRowTiles tiles of 16 rows. Four warps, along outputs first.
template <int kPanelsOf, int kTilesOf, int kRowTilesOf, int kGroupsOf>
struct CodeShape {
  static constexpr int kPanels = kPanelsOf;
  static constexpr int kTiles = kTilesOf;
  static constexpr int kRowTiles = kRowTilesOf;
  static constexpr int kGroups = kGroupsOf;  ///< of a stage

  static constexpr int kWarps = 4;
  static constexpr int kWarpsAlongOutputs = linear::kPanelOutputs / 8 / kTiles;
  static constexpr int kTileRows = kWarps / kWarpsAlongOutputs * kRowTiles * 16;
};

/// How a panel of some kind lies in memory and in a stage, in words.
struct CodeLayout {
  int head;   ///< of the panel, or of each block
  int group;  ///< of which the first lines * 32 are codes
  int lines;
  int block_groups;  ///< groups after a head; 0: all of the panel

  static FORGE_DEVICE CodeLayout of(linear::PanelKind kind) {
    using namespace linear::codes;
    return {static_cast<int>(head_bytes(kind) / 4), static_cast<int>(group_bytes(kind) / 4),
            line_count(kind), has_blocks(kind) ? kBlockGroups : 0};
  }
  /// From the start of a panel to the head of a group, and to the group.
  FORGE_DEVICE int head_of(int g) const {
    return block_groups == 0 ? 0 : g / block_groups * (head + block_groups * group);
  }
  FORGE_DEVICE int group_at(int g) const {
    return head_of(g) + head + (block_groups == 0 ? g : g % block_groups) * group;
  }
};

/// What a block multiplies, and where it lies.
struct CodeTile {
  sptr<std::uint32_t> ring;
  gptr<const std::uint32_t> x;        ///< [rows][groups] of RowGroup
  gptr<const std::uint32_t> weights;  ///< the first panel
  std::int64_t panel_distance;        ///< words from a panel of the block to its next
  int first_panel;                    ///< of the block
  CodeLayout layout;
  linear::PanelKind kind;
  int panels;      ///< of the block that are there
  int groups;      ///< of K inputs
  int rows;        ///< of x that are there; 0 before that is known
  int stage_rows;  ///< of x, in a stage
  int stages;      ///< of the ring
};

constexpr int kRowGroupWords = sizeof(gpu::RowGroup) / sizeof(std::uint32_t);

/// A slot of the ring: the block's panels, then its rows.
template <class Shape>
struct CodeStage {
  static constexpr int kRowWords = Shape::kGroups * kRowGroupWords + 4;

  sptr<std::uint32_t> at;
  CodeLayout layout;

  FORGE_DEVICE int panel_words() const { return layout.head + Shape::kGroups * layout.group; }
  FORGE_DEVICE sptr<std::uint32_t> panel(int p) const { return at + p * panel_words(); }
  FORGE_DEVICE sptr<std::uint32_t> group(int p, int g) const {
    return panel(p) + layout.head + g * layout.group;
  }
  FORGE_DEVICE sptr<std::uint32_t> row(int r) const {
    return panel(Shape::kPanels) + r * kRowWords;
  }
};

template <class Shape>
FORGE_DEVICE CodeStage<Shape> code_stage(const CodeTile& tile, int slot) {
  const CodeStage<Shape> first{tile.ring, tile.layout};
  const int words =
      Shape::kPanels * first.panel_words() + tile.stage_rows * CodeStage<Shape>::kRowWords;
  return {tile.ring + slot * words, tile.layout};
}

/// Where a word of a line is in its group.
FORGE_DEVICE int place_in_line(int line, int output) {
  return line * linear::kPanelOutputs + (output + 8 * line) % linear::kPanelOutputs;
}

/// Groups of a stage that are there.
template <class Shape>
FORGE_DEVICE int groups_of(const CodeTile& tile, int stage) {
  const int left = tile.groups - stage * Shape::kGroups;
  return left < Shape::kGroups ? left : Shape::kGroups;
}

/// Asks for the weights of a stage, which may be none: a warp for each group, and the first one for
/// the heads. Of a panel that is not there, all are zeros.
template <class Shape>
FORGE_DEVICE void fill_codes(const CodeTile& tile, int stage, int slot) {
  constexpr int kPiece = 4;  // words that are copied at once
  const CodeLayout& layout = tile.layout;
  const auto to = code_stage<Shape>(tile, slot);
  const int first = stage * Shape::kGroups;
  const int groups = groups_of<Shape>(tile, stage);
  if (groups <= 0) return;
  for (int p = 0; p < Shape::kPanels; ++p) {
    const gptr<const std::uint32_t> panel = tile.weights + p * tile.panel_distance;
    const bool is_there = p < tile.panels;
    for (int word = thread() * kPiece; word < layout.head; word += threads() * kPiece) {
      copy_async(to.panel(p) + word, panel + layout.head_of(first) + word, is_there);
    }
    for (int g = warp(); g < groups; g += Shape::kWarps) {
      for (int word = lane() * kPiece; word < layout.group; word += kWarpSize * kPiece) {
        const int line = word / linear::kPanelOutputs;
        const int place =
            line < layout.lines ? place_in_line(line, word % linear::kPanelOutputs) : word;
        copy_async(to.group(p, g) + place, panel + layout.group_at(first + g) + word, is_there);
      }
    }
  }
}

/// Asks for the rows of a stage, which may be none.
template <class Shape, class Rows>
FORGE_DEVICE void fill_code_rows(const CodeTile& tile, const Rows& row_of, int stage, int slot) {
  constexpr int kGroupPieces = kRowGroupWords / 4;
  constexpr int kPieces = Shape::kGroups * kGroupPieces;
  const auto to = code_stage<Shape>(tile, slot);
  const int pieces = groups_of<Shape>(tile, stage) * kGroupPieces;
  for (int i = thread(); i < tile.rows * kPieces; i += threads()) {
    const int row = i / kPieces;
    const int piece = i % kPieces;
    if (piece >= pieces) continue;
    const std::int64_t group = row_of.source(row) * tile.groups + stage * Shape::kGroups;
    copy_async(to.row(row) + piece * 4, tile.x + group * kRowGroupWords + piece * 4, true);
  }
}

/// wait_copies for a number of commits that is known when the kernel runs, up to kMost.
template <int kMost>
FORGE_DEVICE void wait_copies_but(int pending) {
  if constexpr (kMost > 1) {
    if (pending < kMost) return wait_copies_but<kMost - 1>(pending);
  }
  wait_copies<kMost>();
}

/// Arrays with a number of each output, from some place of a stage on (code_scales.cuh).
struct SharedArrays {
  sptr<const std::uint32_t> at;
  int output;

  FORGE_DEVICE float half(std::size_t n) const {
    const std::uint32_t two = at[static_cast<int>(n / 4) + output / 2];
    return widened_f16(static_cast<std::uint16_t>(two >> output % 2 * 16));
  }
  FORGE_DEVICE std::int32_t byte(std::size_t n) const {
    const std::uint32_t four = at[static_cast<int>(n / 4) + output / 4];
    return static_cast<std::int32_t>(four >> output % 4 * 8 & 255u);
  }
  FORGE_DEVICE std::int32_t signed_byte(std::size_t n) const {
    return static_cast<std::int8_t>(byte(n));
  }
  FORGE_DEVICE float number(std::size_t n) const {
    const std::uint32_t word = at[static_cast<int>(n / 4) + output];
    return numerics::float_of(word);
  }
};

}  // namespace FORGE_KERNELS
