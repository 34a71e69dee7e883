// Rows of weights for tests of quantize(), pure functions of their seeds.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "forge/numerics/canonical.h"
#include "forge/numerics/philox.h"

namespace forge::quant {

/// Independent normal numbers of variance 1, by Box and Muller.
inline std::vector<float> gaussian_row(std::size_t count, std::uint64_t seed) {
  std::vector<float> row(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const numerics::Words4 words = numerics::philox({{i, 0, 0, 0}}, seed);
    const double radius = std::sqrt(-2.0 * std::log(numerics::uniform_open(words.x[0])));
    const double angle = 2.0 * std::numbers::pi * numerics::uniform_open(words.x[1]);
    row[i] = static_cast<float>(radius * std::cos(angle));
  }
  return row;
}

inline std::vector<float> scaled(std::vector<float> row, float factor) {
  for (float& number : row) number *= factor;
  return row;
}

}  // namespace forge::quant
