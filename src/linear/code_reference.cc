// The definition of products with codes (forge/linear/product.h), from the stored form.
#include <cstddef>
#include <vector>

#include "code_rows.h"
#include "code_source.h"
#include "forge/numerics/canonical.h"
#include "panels.h"

namespace forge::linear::codes {
namespace {

/// Sum of (c - o) a h over the group.
int dot(const SourceGroup& w, const CodedGroup& x) {
  int total = 0;
  for (int i = 0; i < kGroup; ++i) {
    total += w.half_scales[i / 16] * w.number(i) * x.codes[i];
  }
  return total;
}

/// Sum of n a over the group.
int sum_of_minima(const SourceGroup& w, const CodedGroup& x) {
  int total = 0;
  for (int i = 0; i < kGroup; ++i) total += w.half_mins[i / 16] * x.codes[i];
  return total;
}

/// A row of x in groups, inputs in `order`, zeros past the last.
std::vector<CodedGroup> code_row(const float* x, int inputs, std::span<const std::int32_t> order) {
  std::vector<CodedGroup> groups;
  for (int first = 0; first < inputs; first += kGroup) {
    float group[kGroup] = {};
    for (int i = 0; i < kGroup && first + i < inputs; ++i) {
      const std::size_t k = static_cast<std::size_t>(first) + static_cast<std::size_t>(i);
      group[i] = x[order.empty() ? k : static_cast<std::size_t>(order[k])];
    }
    groups.push_back(code_group(group));
  }
  return groups;
}

}  // namespace

void multiply_reference(const float* x, int rows, const StoredLinear& part, float* y,
                        std::ptrdiff_t y_stride) {
  const std::vector<std::int32_t> order = packed_order(part);
  for (int row = 0; row < rows; ++row, x += part.inputs, y += y_stride) {
    const std::vector<CodedGroup> groups = code_row(x, part.inputs, order);
    for (int output = 0; output < part.outputs; ++output) {
      float acc = 0.0F;
      int g = 0;
      for (const CodedGroup& a : groups) {
        const SourceGroup w = read_group(part, order, output, g++);
        acc = numerics::fma(static_cast<float>(dot(w, a)), w.step() * a.scale, acc);
        if (!has_minima(panel_kind(part))) continue;
        const float sum = a.scale * static_cast<float>(sum_of_minima(w, a));
        acc = numerics::fma(-w.offset_below(), sum, acc);
      }
      y[output] = acc;
    }
  }
}

}  // namespace forge::linear::codes
