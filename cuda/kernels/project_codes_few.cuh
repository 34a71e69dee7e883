// project_codes_few: v = s x W^T + bias for up to 4 rows in a block, weights in codes, by dot
// products; what becomes of v is tensor_results.cuh.
//
//   grid      x: tiles of 4 rows; y, then z: panels of 32 outputs, or of 32 gates and their 32 ups
//   memory    weights from global memory into registers (code_lanes.cuh): item i of warp w, of W of
//             a panel, is groups 2 (W i + w) and the next one. Two items are under way while one is
//             multiplied, the first before the launch before has ended. Rows are brought to shared
//             memory once
//   bits      linear/product.h: sums of integers are exact, so groups are multiplied in any order;
//             an output is one chain over them, ascending (few_chains.cuh)
//
//   warps that multiply     groups of round 0 --+-- groups of round 1 --+-- ...    + is a barrier
//   warps with chains                           +-- chains by round 0 --+-- ...
#pragma once

#include "code_results.cuh"
#include "few_chains.cuh"
#include "forge/gpu/kernels/project_codes_few.h"
#include "product.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// Brings the block's rows to shared memory.
template <class Rows>
FORGE_DEVICE void bring_rows(const CodeTile& tile, const Rows& row_of, sptr<std::uint32_t> to) {
  constexpr int kAtOnce = 4;
  const int pieces = tile.groups * (kRowGroupWords / kPieceWords);
  FORGE_ROLLED for (int row = 0; row < tile.rows; ++row) {
    const gptr<const std::uint32_t> from =
        tile.x + row_of.source(row) * tile.groups * kRowGroupWords;
    const sptr<std::uint32_t> to_row = to + row * pieces * kPieceWords;
    FORGE_ROLLED for (int first = thread(); first < pieces; first += kAtOnce * threads()) {
      Words4 words[kAtOnce] = {};
      FORGE_UNROLLED for (int k = 0; k < kAtOnce; ++k) {
        const int i = first + k * threads();
        if (i < pieces) words[k] = load16(from + i * kPieceWords);
      }
      FORGE_UNROLLED for (int k = 0; k < kAtOnce; ++k) {
        const int i = first + k * threads();
        if (i < pieces) store16(to_row + i * kPieceWords, words[k]);
      }
    }
  }
}

/// A lane's groups, one of each item, which lie the same number of bytes apart.
template <class Shape, linear::PanelKind kKind>
struct FewGroups {
  static constexpr bool kHasBlocks = linear::codes::has_blocks(kKind);
  static constexpr int kBlockGroups = linear::codes::kBlockGroups;
  static constexpr int kGroupBytes = linear::codes::group_bytes(kKind);
  static constexpr int kHeadBytes = linear::codes::head_bytes(kKind);
  static constexpr int kBlockBytes = kBlockGroups * kGroupBytes + (kHasBlocks ? kHeadBytes : 0);

  const std::byte* panel;
  const std::byte* from;  ///< group g
  int g;
  int groups;
  int item_groups;  ///< whole blocks

  static FORGE_DEVICE FewGroups of(const std::byte* panel, int groups) {
    const int g = Shape::group();
    return {panel, panel + linear::codes::group_offset(kKind, g), g, groups, Shape::item_groups()};
  }
  FORGE_DEVICE bool is_there(int items_on) const { return g + items_on * item_groups < groups; }
  /// Nothing is kept of what was loaded before, so that its registers are free.
  FORGE_DEVICE LaneGroup<kKind> load_if_there(int items_on) const {
    if (!is_there(items_on)) return {};
    const std::byte* const at = from + items_on * item_groups / kBlockGroups * kBlockBytes;
    const std::byte* head = panel;
    if constexpr (kHasBlocks) {
      head = at - (kHeadBytes + Shape::group() % kBlockGroups * kGroupBytes);
    }
    return LaneGroup<kKind>::of(at, head, Shape::output());
  }
  FORGE_DEVICE void go_on() {
    from = from + item_groups / kBlockGroups * kBlockBytes;
    g += item_groups;
  }
};

/// Makes the sums of a block and parks them where its terms were, for room for `room` rows. Which
/// rows there are, wait_for_rows() says, and nothing of them is read before.
template <class Shape, class WaitForRows, class Rows>
struct MultiplyFew {
  const gpu::TensorProduct& a;
  CodeTile& tile;
  const Rows& row_of;
  const WaitForRows& wait_for_rows;
  sptr<float> factors;
  int room;

  template <linear::PanelKind kKind>
  FORGE_DEVICE void operator()(CodeKind<kKind> /*of*/) const {
    const auto* const panel = static_cast<const std::byte*>(a.weights) +
                              (tile.first_panel + Shape::panel() * tile.ups) * tile.panel_words * 4;
    auto groups = FewGroups<Shape, kKind>::of(panel, tile.groups);
    LaneGroup<kKind> ahead[Shape::kItems] = {};
    CodeTable table;
    if (Shape::multiplies()) {
      FORGE_UNROLLED for (int i = 0; i < Shape::kItems; ++i) ahead[i] = groups.load_if_there(i);
      if constexpr (kKind == linear::PanelKind::table4) {
        table = CodeTable::of(global(reinterpret_cast<const std::uint32_t*>(panel)));
      }
    }
    tile.rows = wait_for_rows();
    if (tile.rows <= 0) return;
    const FewRows rows{tile.ring + tile.rows_at, tile.groups * kRowGroupWords, tile.rows};
    bring_rows(tile, row_of, tile.ring + tile.rows_at);
    sync_block();
    const auto terms = FewTerms<Shape, kKind>::of(tile.ring, room);
    if (Shape::multiplies()) {
      multiply(groups, ahead, table, rows, terms);
    } else {
      continue_chains(rows, terms);
    }
  }

 private:
  template <linear::PanelKind kKind>
  FORGE_DEVICE void multiply(FewGroups<Shape, kKind>& groups, LaneGroup<kKind>* ahead,
                             const CodeTable& table, const FewRows& all_rows,
                             const FewTerms<Shape, kKind>& terms) const {
    FewRows rows = all_rows.from(groups.g);
    FORGE_ROLLED for (int left = tile.groups, round = 0; left > 0; ++round) {
      const FewTerms<Shape, kKind> to = terms.of_round(round);
      FORGE_UNROLLED for (int i = 0; i < Shape::kItems; ++i) {
        if (groups.is_there(0)) {
          const auto codes = LaneCodes<kKind>::of(ahead[i], table);
          put_terms<Shape, kKind>(codes, rows, to, i * groups.item_groups + Shape::group());
          ahead[i] = groups.load_if_there(Shape::kItems);
        }
        groups.go_on();
        rows = rows.from(groups.item_groups);
      }
      left -= Shape::round_groups();
      end_round();
    }
    end_round();
  }

  template <linear::PanelKind kKind>
  FORGE_DEVICE void continue_chains(const FewRows& rows,
                                    const FewTerms<Shape, kKind>& terms) const {
    find_factors_of_few();
    const int most = Shape::round_groups();
    FewChains<Shape, kKind> chains;
    FORGE_ROLLED for (int first = 0, round = 0; first < tile.groups; ++round) {
      end_round();
      const int left = tile.groups - first;
      chains.go_on(terms.of_round(round), left < most ? left : most, rows.from(first));
      first += most;
    }
    end_round();
    chains.park(tile.ring);
  }

  /// Where warps that multiply and those with chains meet.
  static FORGE_DEVICE void end_round() { sync_block(); }

  FORGE_DEVICE void find_factors_of_few() const {
    const int first = warp() - Shape::multiply_warps();
    FORGE_ROLLED for (int row = first; row < Shape::kTileRows; row += Shape::Args::kChainWarps) {
      float factor = 1.0f;
      if (a.norm.squares != nullptr && row < tile.rows) {
        float of_row = 0.0f;
        for_each_square_sum<1>(
            a, 1, [&](int) { return row_of.source(row); }, [&](int, float sum) { of_row = sum; });
        factor = row_factor(a, of_row);
      }
      if (lane() == 0) factors[row] = factor;
    }
  }
};

/// A block's tile, but for its rows, from a panel on. Terms come first, rows after them.
FORGE_DEVICE CodeTile few_tile(const gpu::ProjectCodesFewArgs& args, sptr<std::uint32_t> ring,
                               std::int64_t panel) {
  const gpu::TensorProduct& a = args.codes.product;
  return {.ring = ring,
          .x = global(static_cast<const std::uint32_t*>(a.x)),
          .weights = nullptr,
          .panel_words =
              static_cast<std::int64_t>(linear::codes::panel_bytes(args.codes.kind, a.inputs)) / 4,
          .first_panel = static_cast<int>(panel),
          .ups = a.is_gated() ? args.codes.panels() : 0,
          .panels = args.codes.panels() - static_cast<int>(panel),
          .kind = args.codes.kind,
          .groups = linear::codes::group_count(a.inputs),
          .rows = 0,
          .stages = 0,
          .stage_words = 0,
          .rows_at = args.terms_bytes() / 4};
}

template <int kPanels>
FORGE_DEVICE void project_codes_few_tile(const gpu::ProjectCodesFewArgs& args,
                                         sptr<std::uint32_t> ring, sptr<float> factors) {
  using Shape = FewShape<kPanels>;
  const gpu::TensorProduct& a = args.codes.product;
  CodeTile tile = few_tile(args, ring, panel_of_block());
  const RowsInOrder row_of{block().x * gpu::ProjectCodesFewArgs::kTileRows};
  const auto wait_for_rows = [&] {
    wait_for_previous();
    const int left = static_cast<int>(global(a.row_count)[0]) - row_of.first;
    return left < args.block_rows() ? left : args.block_rows();
  };
  with_code_kind(tile.kind, MultiplyFew<Shape, decltype(wait_for_rows), RowsInOrder>{
                                a, tile, row_of, wait_for_rows, factors, args.block_rows()});
  if (tile.rows <= 0) return;
  sync_block();  // all sums are parked
  const CodeTile made{
      .ring = ring, .first_panel = static_cast<int>(panel_of_block()), .rows = tile.rows};
  with_half(a.type,
            [&](auto half) { store_codes<decltype(half), Shape>(a, made, row_of, factors); });
}

FORGE_KERNEL(gpu::ProjectCodesFewArgs::kThreads, 1)
project_codes_few(gpu::ProjectCodesFewArgs args) {
  SIMT_SHARED_DYNAMIC(std::uint32_t, ring);
  SIMT_SHARED(float, factors, gpu::ProjectCodesFewArgs::kResultRows);
  start_next();
  if (panel_of_block() >= args.codes.panels()) return wait_for_previous();
  if (args.codes.product.is_gated()) {
    project_codes_few_tile<2>(args, ring, factors);
  } else {
    project_codes_few_tile<1>(args, ring, factors);
  }
}

}  // namespace FORGE_KERNELS
