// Choices of experts, and the plan that kernels are to make of them, for the tests of mixtures of
// experts.
#pragma once

#include <algorithm>
#include <vector>

#include "gpu/kernel_rig.h"

namespace forge::gpu {

inline std::size_t size_of(int a, int b = 1, int c = 1) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * static_cast<std::size_t>(c);
}

/// As many rows as a launch is for more than there are.
inline constexpr int kRowsBeyond = 3;

inline PassCounts counts_of(int rows) { return {.rows = static_cast<std::uint32_t>(rows)}; }

/// Different experts for each row, ascending, with some weight.
inline std::vector<ExpertChoice> random_choices(int rows, int experts, int per_row,
                                                Random& random) {
  std::vector<ExpertChoice> choices;
  for (int row = 0; row < rows; ++row) {
    std::vector<std::uint32_t> chosen = random.permutation(static_cast<std::uint32_t>(experts));
    chosen.resize(static_cast<std::size_t>(per_row));
    std::ranges::sort(chosen);
    for (const std::uint32_t expert : chosen) choices.push_back({expert, random.real(2.0f)});
  }
  return choices;
}

/// The definition of the plan.
struct PlanOnHost {
  PlanOnHost(const std::vector<ExpertChoice>& choices, int experts, int tile_rows) {
    for (std::uint32_t expert = 0; expert < static_cast<std::uint32_t>(experts); ++expert) {
      const auto full = static_cast<std::uint32_t>(tile_rows);
      std::uint32_t in_tile = full;
      for (std::uint32_t i = 0; i < choices.size(); ++i) {
        if (choices[i].expert != expert) continue;
        if (in_tile == full) {
          tiles.push_back({expert, static_cast<std::uint32_t>(pairs.size()), 0});
          in_tile = 0;
        }
        pairs.push_back(i);
        tiles.back().count = ++in_tile;
      }
    }
  }

  std::vector<std::uint32_t> pairs;
  std::vector<ExpertTile> tiles;
};

}  // namespace forge::gpu
