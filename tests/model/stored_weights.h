// Weights in memory for tests: copies of a model in another type of weights, and random ones.
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "forge/model/model_config.h"
#include "forge/model/stored_model.h"
#include "forge/quant/weight_type.h"

namespace forge::testing {

/// Owns the matrices of the models that it makes.
class StoredWeights {
 public:
  /// `model` with all matrices as rows of `type`, or of F32 where a row is not whole blocks.
  model::StoredModel converted(const model::StoredModel& model, quant::WeightType type);

  /// Random weights for `config`, of `type` likewise. Products keep the size of what they multiply.
  model::StoredModel random(const model::ModelConfig& config, quant::WeightType type);

  /// A matrix of rows [outputs][inputs].
  linear::StoredLinear matrix(int outputs, int inputs, std::span<const float> rows,
                              quant::WeightType type);

 private:
  std::deque<std::vector<std::byte>> bytes_;
};

/// Calls body on every matrix of `model`, its head too, if it has one.
void for_each_matrix(model::StoredModel& model,
                     const std::function<void(linear::StoredLinear&)>& body);

/// A model whose rows are whole blocks of every type of weights: inputs are multiples of 256.
/// Llama, a mixture of experts, or latent attention with shared experts.
model::ModelConfig wide_llama();
model::ModelConfig wide_experts();
model::ModelConfig wide_latent();

/// wide_experts() with sinks, biases wherever there can be any, and clamped_swiglu.
model::ModelConfig wide_sinks();

}  // namespace forge::testing
