// What the kernels of a mixture of experts hand to one another: choices, and the pairs of a row and
// one of its experts, sorted by expert so that an expert's weights are read once for all its rows.
// model/experts.h says how experts are chosen and added up.
//
//   project       z [T][E], of the router
//   choose_experts                 choices [T][A]
//   plan_experts                   pairs [T A], tiles, counts
//   project_experts                gate_up [T A][2 F] of x [T][d]
//   glu                            gated [T A][F]: of counts->rows
//   project_experts                produced [T A][d] of gated
//   add_experts                    y [T][d]
//
// With fast numerics products are those of tensor_product.h and expert_product.h, which gate their
// outputs themselves.
//
// Legend, beyond that of kernels.h: E experts, A of them for each row; F inner size of one expert.
// Pair n is choice n % A of row n / A: results lie in the order of rows, whatever expert made them.
#pragma once

#include <cstdint>

#include "forge/gpu/kernels/step_data.h"

namespace forge::gpu {

/// One of the experts that a row takes; its choices are in ascending order of experts.
struct ExpertChoice {
  std::uint32_t expert = 0;
  float weight = 0;
};

/// Pairs that one thread block multiplies by the matrix of one expert, from
/// ExpertPlan::pairs[first] on.
struct ExpertTile {
  std::uint32_t expert = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// The pairs of a pass by expert, in device memory. An expert's pairs are in ascending order.
struct ExpertPlan {
  std::uint32_t* pairs;  ///< [T A]: numbers of pairs
  ExpertTile* tiles;     ///< [tiles_max]
  std::uint32_t* tiles_count;
  PassCounts* counts;  ///< their rows are the pairs, for kernels that take rows one by one
};

/// Most tiles of `tile_rows` pairs that `rows` rows can make: the first pair of each expert opens a
/// tile, and `tile_rows` further ones another.
constexpr int expert_tiles_max(int rows, int experts, int experts_per_token, int tile_rows) {
  const int pairs = rows * experts_per_token;
  const int opened = pairs < experts ? pairs : experts;
  return opened + (pairs - opened) / tile_rows;
}

}  // namespace forge::gpu
