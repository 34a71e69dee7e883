// Chains of project_codes_few: warps that multiply leave what their groups add to the chains in
// shared memory, and warps of their own continue the chains by it, in order, a round later.
//
// Of a group all rows share the step and the minimum of an output, and each row has its sum,
// rounded to a float as linear/product.h has it.
#pragma once

#include "code_chains.cuh"
#include "code_lanes.cuh"
#include "forge/gpu/kernels/project_codes_few.h"

namespace FORGE_KERNELS {
using namespace simt;

/// The warps of a block of kPanels panels. Neighbours have different panels; the last warps have
/// chains, the others multiply: an item of them is so many groups of each panel, neighbours.
template <int kPanelsOf>
struct FewShape {
  using Args = gpu::ProjectCodesFewArgs;
  static constexpr int kPanels = kPanelsOf;
  static constexpr int kGroupWords = kPanels * linear::kPanelOutputs;
  static constexpr int kItems = Args::kItems;
  static constexpr int kTileRows = Args::kResultRows;                          ///< of results
  static constexpr int kAllWarps = Args::kMultiplyWarps + Args::kChainWarps;   ///< or more
  static constexpr int kChainWarps = Args::kChainWarps / kPanels;              ///< of a panel
  static constexpr int kChains = gpu::ceil_div(Args::kTileRows, kChainWarps);  ///< of a lane

  static FORGE_DEVICE int multiply_warps() { return threads() / kWarpSize - Args::kChainWarps; }
  static FORGE_DEVICE bool multiplies() { return warp() < multiply_warps(); }
  static FORGE_DEVICE int panel() { return warp() % kPanels; }

  /// Groups of an item, of all warps of a panel.
  static FORGE_DEVICE int item_groups() { return multiply_warps() / kPanels * Args::kLaneOutputs; }
  static FORGE_DEVICE int round_groups() { return item_groups() * kItems; }
  /// Of a lane that multiplies: its group of an item, and its outputs.
  static FORGE_DEVICE int group() { return warp() / kPanels * Args::kLaneOutputs + lane() / 16; }
  static FORGE_DEVICE int output() { return lane() % 16 * Args::kLaneOutputs; }
  /// Of a warp with chains: the row of chain k.
  static FORGE_DEVICE int chain_row(int k) {
    return (warp() - multiply_warps()) / kPanels + k * kChainWarps;
  }
};

/// The block's rows in shared memory, from a group on: row 0 at `at`, others row_words further on.
struct FewRows {
  sptr<const std::uint32_t> at;
  int row_words;
  int count;

  FORGE_DEVICE FewRows from(int g) const { return {at + g * kRowGroupWords, row_words, count}; }
};

/// What the groups of a round add to the chains: arrays [groups][panels][32] of the steps, of
/// minus_minimum, of each row's sums, and of q2_k of each row's low_sum.
template <class Shape, linear::PanelKind kKind>
struct FewTerms {
  static constexpr bool kHasLows = kKind == linear::PanelKind::q2_k;
  static constexpr int kOfGroup = linear::has_minima(kKind) ? 2 : 1;

  sptr<std::uint32_t> at;
  int rows;  ///< there is room for
  int array_words;

  static FORGE_DEVICE FewTerms of(sptr<std::uint32_t> at, int rows) {
    return {at, rows, Shape::round_groups() * Shape::kGroupWords};
  }
  FORGE_DEVICE FewTerms of_round(int round) const {
    const int numbers = gpu::ProjectCodesFewArgs::term_numbers(kKind, rows);
    return {at + round % 2 * numbers * array_words, rows, array_words};
  }
  /// Number n of group g of the panel of this warp: of its outputs.
  FORGE_DEVICE sptr<std::uint32_t> number(int g, int n) const {
    return at + n * array_words + g * Shape::kGroupWords + Shape::panel() * linear::kPanelOutputs;
  }
  FORGE_DEVICE sptr<std::uint32_t> steps(int g) const { return number(g, 0); }
  FORGE_DEVICE sptr<std::uint32_t> minima(int g) const { return number(g, 1); }
  FORGE_DEVICE sptr<std::uint32_t> sums(int g, int row) const { return number(g, kOfGroup + row); }
  FORGE_DEVICE sptr<std::uint32_t> lows(int g, int row) const { return sums(g, rows + row); }
};

/// Stores the numbers of a lane's two outputs.
FORGE_DEVICE void store_two(sptr<std::uint32_t> to, float first, float second) {
  to[0] = numerics::bits_of(first);
  to[1] = numerics::bits_of(second);
}

/// Leaves the terms of a lane's group, number g of the round. rows: from that group on.
template <class Shape, linear::PanelKind kKind>
FORGE_DEVICE void put_terms(const LaneCodes<kKind>& codes, const FewRows& rows,
                            const FewTerms<Shape, kKind>& terms, int g) {
  const int output = Shape::output();
  const GroupScales(&scales)[2] = codes.scales;
  store_two(terms.steps(g) + output, scales[0].step, scales[1].step);
  if constexpr (linear::has_minima(kKind)) {
    store_two(terms.minima(g) + output, scales[0].minus_minimum, scales[1].minus_minimum);
  }
  sptr<const std::uint32_t> x = rows.at;
  FORGE_ROLLED for (int row = 0; row < rows.count; ++row) {
    const Words4 low = load16(x);
    const Words4 high = load16(x + 4);
    const RowTerms of_row = RowTerms::of(x);
    const std::uint32_t quads[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    float sums[2];
    FORGE_UNROLLED for (int v = 0; v < 2; ++v) {
      std::int32_t first = 0;
      std::int32_t second = 0;
      FORGE_UNROLLED for (int q = 0; q < 4; ++q) {
        first = dot4(codes.quads[v][q], quads[q], first);
        second = dot4(codes.quads[v][q + 4], quads[q + 4], second);
      }
      if constexpr (!linear::has_half_scales(kKind)) first += second;
      sums[v] = static_cast<float>(group_sum<kKind>(first, second, scales[v], of_row));
    }
    store_two(terms.sums(g, row) + output, sums[0], sums[1]);
    if constexpr (FewTerms<Shape, kKind>::kHasLows) {
      store_two(terms.lows(g, row) + output, static_cast<float>(low_sum(scales[0], of_row)),
                static_cast<float>(low_sum(scales[1], of_row)));
    }
    x = x + rows.row_words;
  }
}

/// The chains of a warp: of rows chain_row(k) of its panel, a lane an output.
template <class Shape, linear::PanelKind kKind>
struct FewChains {
  static constexpr int kAtOnce = 8;
  float of[Shape::kChains] = {};

  /// Continues them by the first `groups` of a round. rows: from the first of these on.
  FORGE_DEVICE void go_on(const FewTerms<Shape, kKind>& terms, int groups, const FewRows& rows) {
    int g = 0;
    FORGE_ROLLED for (; g + kAtOnce <= groups; g += kAtOnce) add<kAtOnce>(terms, g, rows.from(g));
    FORGE_ROLLED for (; g < groups; ++g) add<1>(terms, g, rows.from(g));
  }

  /// Continues them by kGroups groups from g of a round on. rows: from group g on.
  template <int kGroups>
  FORGE_DEVICE void add(const FewTerms<Shape, kKind>& terms, int g, const FewRows& rows) {
    float steps[kGroups];
    float minima[kGroups];
    FORGE_UNROLLED for (int i = 0; i < kGroups; ++i) {
      const std::uint32_t step = terms.steps(g + i)[lane()];
      steps[i] = numerics::float_of(step);
      if constexpr (linear::has_minima(kKind)) {
        const std::uint32_t minimum = terms.minima(g + i)[lane()];
        minima[i] = numerics::float_of(minimum);
      }
    }
    FORGE_UNROLLED for (int k = 0; k < Shape::kChains; ++k) {
      const int row = Shape::chain_row(k);
      if (row >= rows.count) continue;
      float chain = of[k];
      FORGE_UNROLLED for (int i = 0; i < kGroups; ++i) {
        const auto of_row = RowTerms::of(rows.from(i).at + row * rows.row_words);
        const std::uint32_t sum = terms.sums(g + i, row)[lane()];
        chain = numerics::fma(numerics::float_of(sum), steps[i] * of_row.scale, chain);
        if constexpr (linear::has_minima(kKind)) {
          float of_minimum = of_row.scaled_sum;
          if constexpr (FewTerms<Shape, kKind>::kHasLows) {
            const std::uint32_t low = terms.lows(g + i, row)[lane()];
            of_minimum = of_row.scale * numerics::float_of(low);
          }
          chain = numerics::fma(minima[i], of_minimum, chain);
        }
      }
      of[k] = chain;
    }
  }

  /// Parks them where the results are made (ParkedSums). Those of rows that are not there are
  /// zeros.
  FORGE_DEVICE void park(sptr<std::uint32_t> at) const {
    FORGE_UNROLLED for (int k = 0; k < Shape::kTileRows / Shape::kChainWarps; ++k) {
      const float chain = k < Shape::kChains ? of[k < Shape::kChains ? k : 0] : 0.0f;
      at[Shape::chain_row(k) * ParkedSums<Shape>::kRowWords +
         Shape::panel() * linear::kPanelOutputs + lane()] = numerics::bits_of(chain);
    }
  }
};

}  // namespace FORGE_KERNELS
