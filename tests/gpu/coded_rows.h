// Rows in 8 bits, as kernels read them (gpu/kernels/code_rows.h).
#pragma once

#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "forge/gpu/kernels/code_rows.h"
#include "forge/linear/product.h"

namespace forge::gpu {

/// Rows of x in 8 bits, as the CPU codes them, inputs in `order`.
inline std::vector<RowGroup> coded(const std::vector<float>& x, int inputs,
                                   std::span<const std::int32_t> order = {}) {
  std::vector<RowGroup> groups;
  const auto K = static_cast<std::size_t>(inputs);
  for (std::size_t row = 0; row < x.size(); row += K) {
    for (std::size_t first = 0; first < K; first += linear::codes::kGroup) {
      std::array<float, linear::codes::kGroup> numbers{};
      for (std::size_t i = 0; i < numbers.size() && first + i < K; ++i) {
        const std::size_t k = first + i;
        numbers[i] = x[row + (order.empty() ? k : static_cast<std::size_t>(order[k]))];
      }
      const linear::CodedGroup group = linear::code_group(numbers);
      RowGroup out{.sums = {group.biases[0] / -128, group.biases[1] / -128},
                   .scale = group.scale,
                   .scaled_sum = group.scaled_sum};
      std::memcpy(out.quads, group.codes, sizeof group.codes);
      groups.push_back(out);
    }
  }
  return groups;
}

}  // namespace forge::gpu
