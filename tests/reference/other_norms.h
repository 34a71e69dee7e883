// Seeded weights have norms of one, which would hide whoever forgets to multiply by them.
#pragma once

#include <cmath>

#include "forge/reference/weights.h"

namespace forge::testing {

/// The same weights, the norms of each layer and of the head between 0.6 and 1.4, all different.
inline reference::Weights with_other_norms(reference::Weights weights) {
  float state = 0;
  const auto vary = [&](reference::Vector& norm) {
    for (float& weight : norm) weight = 1 + 0.4F * std::sin(state += 1);
  };
  for (reference::LayerWeights& layer : weights.layers) {
    vary(layer.attention_norm);
    vary(layer.mlp_norm);
  }
  vary(weights.final_norm);
  return weights;
}

}  // namespace forge::testing
