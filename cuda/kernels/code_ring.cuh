// The ring of project_codes_* and project_experts_codes_*: stages of some groups of a block's
// panels and rows (code_product.h).
//
// A lane takes neighbouring words of lines lane % 4 and lane % 4 + 4, which lie 128 bytes apart. So
// line l begins 32 l bytes further, and what would not fit comes first: the words of a warp, or of
// eight lanes that take 16 bytes each, have all banks.
//
// The kind of the codes is known to the compiler: a stage's pieces are then at places that a thread
// works out once, and what is left to do for a copy is the copy.
#pragma once

#include "forge/gpu/kernels/code_product.h"
#include "forge/linear/code_layout.h"
#include "forge/numerics/half.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

constexpr int kRowGroupWords = sizeof(gpu::RowGroup) / sizeof(std::uint32_t);

/// What a block makes: of each of kPanels panels the outputs for kTileRows rows, a warp of each of
/// kWarpPanels panels kTiles tiles of 8 outputs for kRowTiles tiles of 16 rows. Warps go along
/// outputs first. Before them there may be warps that only copy; else all do both.
template <int kPanelsOf, int kWarpPanelsOf, int kTilesOf, int kRowTilesOf, int kWarpsOf,
          int kCopyWarpsOf, int kGroupsOf>
struct CodeShape {
  static constexpr int kPanels = kPanelsOf;
  static constexpr int kWarpPanels = kWarpPanelsOf;
  static constexpr int kTiles = kTilesOf;
  static constexpr int kRowTiles = kRowTilesOf;
  static constexpr int kWarps = kWarpsOf;  ///< that multiply
  static constexpr int kCopyWarps = kCopyWarpsOf;
  static constexpr int kGroups = kGroupsOf;  ///< of a stage

  static constexpr int kAllWarps = kWarps + kCopyWarps;
  static constexpr int kCopyThreads = (kCopyWarps > 0 ? kCopyWarps : kWarps) * kWarpSize;
  static constexpr int kRowWords = gpu::code_row_bytes(kGroups) / 4;  ///< of a row in a stage
  static constexpr int kWarpsOfPanel = linear::kPanelOutputs / 8 / kTiles;
  static constexpr int kWarpsAlongOutputs = kPanels / kWarpPanels * kWarpsOfPanel;
  static constexpr int kTileRows = kWarps / kWarpsAlongOutputs * kRowTiles * 16;

  static FORGE_DEVICE bool copies() { return thread() < kCopyThreads; }
  static FORGE_DEVICE bool multiplies() { return warp() >= kCopyWarps; }
};

/// How a panel lies in memory and in a stage, in words.
template <linear::PanelKind kKind>
struct CodeLayout {
  static constexpr int kHead = linear::codes::head_bytes(kKind) / 4;  ///< of the panel or a block
  static constexpr int kGroup = linear::codes::group_bytes(kKind) / 4;
  static constexpr int kLines = linear::codes::line_count(kKind);
  static constexpr bool kHasBlocks = linear::codes::has_blocks(kKind);
  static constexpr int kBlock = kHead + linear::codes::kBlockGroups * kGroup;

  /// From the start of a panel to the head of a group, and to the group.
  static FORGE_DEVICE int head_of(int g) {
    return kHasBlocks ? g / linear::codes::kBlockGroups * kBlock : 0;
  }
  static FORGE_DEVICE int group_at(int g) {
    return head_of(g) + kHead + (kHasBlocks ? g % linear::codes::kBlockGroups : g) * kGroup;
  }
};

/// What a block multiplies, and where it lies.
struct CodeTile {
  sptr<std::uint32_t> ring;
  gptr<const std::uint32_t> x;        ///< [rows][groups] of RowGroup
  gptr<const std::uint32_t> weights;  ///< the first panel
  std::int64_t panel_words;
  int first_panel;
  int ups;     ///< panels from a gate to its up; 0: outputs are not gated
  int panels;  ///< of the block that are there, of gates and of ups each
  linear::PanelKind kind;
  int groups;  ///< of K inputs
  int rows;    ///< of x that are there; 0 before that is known
  int stages;  ///< of the ring
  int stage_words;
  int rows_at;  ///< in a stage
};

/// A slot of the ring: the block's panels, then its rows.
template <class Shape, linear::PanelKind kKind>
struct CodeStage {
  using Layout = CodeLayout<kKind>;
  static constexpr int kPanelWords = Layout::kHead + Shape::kGroups * Layout::kGroup;

  sptr<std::uint32_t> at;

  static FORGE_DEVICE CodeStage of(const CodeTile& tile, int slot) {
    return {tile.ring + slot * tile.stage_words};
  }
  FORGE_DEVICE sptr<std::uint32_t> panel(int p) const { return at + p * kPanelWords; }
  FORGE_DEVICE sptr<std::uint32_t> group(int p, int g) const {
    return panel(p) + Layout::kHead + g * Layout::kGroup;
  }
  FORGE_DEVICE sptr<std::uint32_t> rows() const { return panel(Shape::kPanels); }
};

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

constexpr int kPieceWords = 4;  // that are copied at once

/// Asks for the weights of a stage, which may be none. The groups of a panel lie one after the
/// other, and where the pieces of a thread are does not depend on the stage. Eight neighbouring
/// lanes copy of one line. Of a panel that is not there, all are zeros.
template <class Shape, linear::PanelKind kKind>
FORGE_DEVICE void fill_codes(const CodeTile& tile, int stage, int slot) {
  using Layout = CodeLayout<kKind>;
  constexpr int kHeadPieces = Layout::kHead / kPieceWords;
  constexpr int kGroupLanes = gpu::ceil_div(Layout::kGroup, 8 * kPieceWords) * 8;
  constexpr int kShare = gpu::ceil_div(Shape::kGroups * kGroupLanes, Shape::kCopyThreads);
  const auto to = CodeStage<Shape, kKind>::of(tile, slot);
  const int first = stage * Shape::kGroups;
  const int groups = groups_of<Shape>(tile, stage);
  if (groups <= 0) return;
  FORGE_UNROLLED for (int p = 0; p < Shape::kPanels; ++p) {
    const bool is_up = tile.ups > 0 && p >= Shape::kPanels / 2;
    const int of_gates = is_up ? p - Shape::kPanels / 2 : p;
    const bool is_there = of_gates < tile.panels;
    const gptr<const std::uint32_t> panel =
        tile.weights + (of_gates + (is_up ? tile.ups : 0)) * tile.panel_words;
    if constexpr (kHeadPieces > 0) {
      static_assert(kHeadPieces <= Shape::kCopyThreads);
      if (thread() < kHeadPieces) {
        const int word = thread() * kPieceWords;
        copy_async(to.panel(p) + word, panel + Layout::head_of(first) + word, is_there);
      }
    }
    FORGE_UNROLLED for (int k = 0; k < kShare; ++k) {
      const int i = thread() + k * Shape::kCopyThreads;
      const int g = i / kGroupLanes;
      const int word = i % kGroupLanes * kPieceWords;
      if (g >= groups || word >= Layout::kGroup) continue;
      const int line = word / linear::kPanelOutputs;
      const int place =
          line < Layout::kLines ? place_in_line(line, word % linear::kPanelOutputs) : word;
      copy_async(to.group(p, g) + place,
                 panel + Layout::group_at(first) + g * Layout::kGroup + word, is_there);
    }
  }
}

/// A thread's share of the rows of a stage: as many threads as a stage has groups copy three pieces
/// each of a row, so that neighbours copy neighbouring ones. If eight lanes copy of two rows, these
/// are four apart: they have different banks.
template <class Shape>
struct CodeRowCopies {
  static constexpr int kRowThreads = Shape::kGroups;
  static constexpr int kRowsAtOnce = Shape::kCopyThreads / kRowThreads;
  static constexpr int kShare = Shape::kTileRows / kRowsAtOnce;
  static constexpr int kPieces = kRowGroupWords / kPieceWords;

  gptr<const std::uint32_t> from[kShare];

  /// The first row of this thread.
  static FORGE_DEVICE int first_row() {
    const int row = thread() / kRowThreads;
    return row / 8 * 8 + row % 2 * 4 + row % 8 / 2;
  }
  template <class Rows>
  static FORGE_DEVICE CodeRowCopies of(const CodeTile& tile, const Rows& row_of) {
    CodeRowCopies copies;
    FORGE_UNROLLED for (int k = 0; k < kShare; ++k) {
      const int row = first_row() + k * kRowsAtOnce;
      const std::int64_t group = row < tile.rows ? row_of.source(row) * tile.groups : 0;
      copies.from[k] = tile.x + group * kRowGroupWords + thread() % kRowThreads * kPieceWords;
    }
    return copies;
  }

  /// Asks for the rows of all stages but the last.
  FORGE_DEVICE void fill_first(const CodeTile& tile) const {
    FORGE_ROLLED for (int stage = 0; stage < tile.stages - 1; ++stage) {
      fill(tile, stage, stage);
      commit_copies();
    }
  }
  /// Asks for the rows of a stage, which may be none.
  FORGE_DEVICE void fill(const CodeTile& tile, int stage, int slot) const {
    constexpr int kRowWords = Shape::kRowWords;
    const int first = thread() % kRowThreads;
    const sptr<std::uint32_t> to = tile.ring + slot * tile.stage_words + tile.rows_at +
                                   first_row() * kRowWords + first * kPieceWords;
    const int pieces = groups_of<Shape>(tile, stage) * kPieces;
    const int word = stage * (Shape::kGroups * kRowGroupWords);
    FORGE_UNROLLED for (int k = 0; k < kShare; ++k) {
      if (first_row() + k * kRowsAtOnce >= tile.rows) continue;
      FORGE_UNROLLED for (int i = 0; i < kPieces; ++i) {
        const int at = i * kRowThreads * kPieceWords;
        if (first + i * kRowThreads < pieces) {
          copy_async(to + k * kRowsAtOnce * kRowWords + at, from[k] + word + at, true);
        }
      }
    }
  }
};

/// wait_copies for a number of commits that is known when the kernel runs, up to kMost.
template <int kMost>
FORGE_DEVICE void wait_copies_but(int pending) {
  if constexpr (kMost > 1) {
    if (pending < kMost) return wait_copies_but<kMost - 1>(pending);
  }
  wait_copies<kMost>();
}

/// Arrays with a number of each output, from some place of a stage on (code_scales.cuh): that of
/// output first + next. first is even, and next known to the compiler.
struct SharedArrays {
  sptr<const std::uint32_t> at;
  int first;
  int next;

  FORGE_DEVICE float half(std::size_t n) const {
    const std::uint32_t two = at[static_cast<int>(n / 4) + first / 2 + next / 2];
    return numerics::to_float(numerics::F16{static_cast<std::uint16_t>(two >> next % 2 * 16)});
  }
  FORGE_DEVICE std::int32_t byte(std::size_t n) const {
    const std::uint32_t four = at[static_cast<int>(n / 4) + first / 4 + next / 4];
    return static_cast<std::int32_t>(four >> (first + next) % 4 * 8 & 255u);
  }
  FORGE_DEVICE std::int32_t signed_byte(std::size_t n) const {
    return static_cast<std::int8_t>(byte(n));
  }
  FORGE_DEVICE float number(std::size_t n) const {
    const std::uint32_t word = at[static_cast<int>(n / 4) + first + next];
    return numerics::float_of(word);
  }
};

}  // namespace FORGE_KERNELS
