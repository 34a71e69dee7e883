// project_codes_few: products of up to four rows with weights of codes (code_product.h), by dot
// products instead of tensor cores.
//
// With so few rows all there is to do is to read the weights. A tensor core takes 16 rows whether
// they are there or not, and a ring has everything wait for its slowest copy; so here each warp
// loads its groups straight into registers, two of them ahead, and multiplies at its own pace. What
// is left, the chain over an output's groups, is made by warps of its own, a round later.
//
// A block has a panel of 32 outputs, or one of gates and that of their ups, and up to four rows,
// which it brings to shared memory once, as they are read again and again. Where there are no more
// panels than an H200 has multiprocessors, a block has sixteen warps that multiply, and else eight,
// two blocks a multiprocessor.
//
// Of many inputs a block may find no room on a device: one of project_codes_narrow does. Launches
// do not overlap, as those of project_codes_narrow, which see.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const PassCounts* counts`,
// `const RowGroup* coded`, `const float* squares`, `const void* panels` and `float* logits`:
//
//   const ProjectCodesFewArgs args{{.product = {.row_count = &counts->logit_rows,
//                                               .rows_max = 1,
//                                               .x = coded,
//                                               .weights = panels,
//                                               .inputs = 4096,
//                                               .outputs = 128256,
//                                               .type = numerics::HalfType::bf16,
//                                               .norm = {.squares = squares, .eps = 1e-5f},
//                                               .y = logits},
//                                   .kind = linear::PanelKind::q4_k}};
//   return launch_of(args, args.shape());
#pragma once

#include "forge/gpu/kernels/code_product.h"

namespace forge::gpu {

struct ProjectCodesFewArgs {
  static constexpr bool kOverlaps = false;
  static constexpr int kTileRows = 4;
  static constexpr int kChainWarps = 4;
  static constexpr int kMultiplyWarps = 8;
  static constexpr int kMultiplyWarpsOfFewPanels = 16;
  static constexpr int kFewPanels = 132;
  /// Of the larger block there are 640; for two of the smaller on a multiprocessor a thread has the
  /// registers of one of 768.
  static constexpr int kThreads = 768;
  static constexpr int kLaneOutputs = 2;  ///< and so many groups of a warp at once
  static constexpr int kItems = 2;        ///< so often in a round
  static constexpr int kResultRows = 16;  ///< of what becomes of the sums, a tile
  static constexpr BlockResources kResources{.shared_bytes = kResultRows * 4, .registers = 80};
  CodeProduct codes;

  FORGE_HOST_DEVICE int block_panels() const { return codes.product.is_gated() ? 2 : 1; }
  FORGE_HOST_DEVICE int multiply_warps() const {
    return codes.panels() <= kFewPanels ? kMultiplyWarpsOfFewPanels : kMultiplyWarps;
  }
  /// Groups of a panel that the block's warps multiply at once, and in a round.
  FORGE_HOST_DEVICE int item_groups() const {
    return multiply_warps() / block_panels() * kLaneOutputs;
  }
  FORGE_HOST_DEVICE int round_groups() const { return item_groups() * kItems; }

  /// Rows of a block, which has no room for rows that are never there.
  FORGE_HOST_DEVICE int block_rows() const {
    return codes.product.rows_max < kTileRows ? codes.product.rows_max : kTileRows;
  }
  /// Up to so many inputs a block finds room in 227 KB, whatever the kind and the outputs.
  static constexpr int inputs_max(int rows) {
    return 32768 / (rows < kTileRows ? rows : kTileRows);
  }
  FORGE_HOST_DEVICE int rows_bytes() const {
    return block_rows() * linear::codes::group_count(codes.product.inputs) *
           static_cast<int>(sizeof(RowGroup));
  }

  /// Numbers of each output that a group of so many rows leaves to the chains.
  static FORGE_HOST_DEVICE constexpr int term_numbers(linear::PanelKind kind, int rows) {
    const int of_rows = kind == linear::PanelKind::q2_k ? 2 * rows : rows;
    return of_rows + (linear::has_minima(kind) ? 2 : 1);
  }
  /// Of two rounds. In the end the sums of all rows are there, each row nine words longer.
  FORGE_HOST_DEVICE int terms_bytes() const {
    const int outputs = block_panels() * linear::kPanelOutputs;
    const int terms = 2 * round_groups() * outputs * term_numbers(codes.kind, block_rows());
    const int sums = kResultRows * (outputs + 9);
    return (terms < sums ? sums : terms) * static_cast<int>(sizeof(float));
  }

  simt::LaunchShape shape() const {
    constexpr int kPanelsY = 1 << 15;  // along y, which ends at 65535; further panels along z
    const int panels = codes.panels();
    return {{ceil_div(codes.product.rows_max, kTileRows), panels < kPanelsY ? panels : kPanelsY,
             ceil_div(panels, kPanelsY)},
            (multiply_warps() + kChainWarps) * simt::kWarpSize,
            terms_bytes() + rows_bytes()};
  }
};

}  // namespace forge::gpu
