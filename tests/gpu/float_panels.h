// Weights of a product in tests of its kernel: as a model on a GPU has them, and the product by its
// definition.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "forge/linear/linear_weights.h"
#include "forge/numerics/canonical.h"

namespace forge::gpu {

class FloatPanels {
 public:
  /// weights: [outputs][inputs]. Borrows them.
  FloatPanels(const std::vector<float>& weights, int outputs, int inputs)
      : weights_(weights), outputs_(outputs), inputs_(inputs) {
    const auto* const rows = reinterpret_cast<const std::byte*>(weights.data());
    const linear::StoredLinear stored{outputs, inputs,
                                      linear::StoredRows{quant::WeightType::f32, rows}};
    linear::ThreadPool one(1);
    packed_ = linear::LinearWeights(std::span(&stored, 1), one);
  }

  /// [ceil(outputs / 32)][inputs][32]
  std::vector<float> floats() const {
    const linear::Section& section = packed_.sections().front();
    const auto* const first = reinterpret_cast<const float*>(section.panels);
    const auto width = static_cast<std::size_t>(inputs_) * linear::kPanelOutputs;
    return {first, first + static_cast<std::size_t>(section.panel_count()) * width};
  }

  /// x [rows][inputs]; -> [rows][outputs]
  std::vector<float> product_by_definition(const std::vector<float>& x, int rows) const {
    std::vector<float> y;
    for (std::ptrdiff_t row = 0; row < rows; ++row) {
      for (std::ptrdiff_t output = 0; output < outputs_; ++output) {
        y.push_back(numerics::product_reference(x.data() + row * inputs_,
                                                weights_.data() + output * inputs_, inputs_));
      }
    }
    return y;
  }

 private:
  const std::vector<float>& weights_;
  int outputs_;
  int inputs_;
  linear::LinearWeights packed_;
};

}  // namespace forge::gpu
