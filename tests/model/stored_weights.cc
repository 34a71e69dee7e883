#include "model/stored_weights.h"

#include <cmath>

#include "forge/model/stored_shapes.h"
#include "forge/model/weight_roles.h"
#include "forge/quant/quantize.h"
#include "numerics/test_values.h"

namespace forge::testing {
namespace {

model::ModelConfig wide() {
  model::ModelConfig config;
  config.family = "test";
  config.vocabulary_size = 70;
  config.hidden_size = 256;
  config.layers = 2;
  config.ffn_size = 256;
  config.positions = 1024;
  config.attention = model::GroupedQueryConfig{.heads = 4, .kv_heads = 2, .head_size = 64};
  config.attention_scale = 0.125F;
  config.rope.size = 64;
  return config;
}

}  // namespace

void for_each_matrix(model::StoredModel& model,
                     const std::function<void(linear::StoredLinear&)>& body) {
  for_each_weight(
      model, [&](const std::string&, linear::StoredLinear& matrix) { body(matrix); },
      [](const std::string&, std::vector<float>&) {});
}

linear::StoredLinear StoredWeights::matrix(int outputs, int inputs, std::span<const float> rows,
                                           quant::WeightType type) {
  const auto width = static_cast<std::size_t>(inputs);
  if (!quant::bytes_of(type, width)) type = quant::WeightType::f32;
  const std::size_t row_bytes = *quant::bytes_of(type, width);
  auto& bytes = bytes_.emplace_back(static_cast<std::size_t>(outputs) * row_bytes);
  for (std::size_t row = 0; row < static_cast<std::size_t>(outputs); ++row) {
    quant::quantize(type, rows.subspan(row * width, width), bytes.data() + row * row_bytes);
  }
  return {outputs, inputs, linear::StoredRows{type, bytes.data()}};
}

model::StoredModel StoredWeights::converted(const model::StoredModel& model,
                                            quant::WeightType type) {
  model::StoredModel copy = model;
  for_each_matrix(copy, [&](linear::StoredLinear& stored) {
    const auto width = static_cast<std::size_t>(stored.inputs);
    std::vector<float> rows(static_cast<std::size_t>(stored.outputs) * width);
    for (int output = 0; output < stored.outputs; ++output) {
      stored_row(stored, output, rows.data() + static_cast<std::size_t>(output) * width);
    }
    stored = matrix(stored.outputs, stored.inputs, rows, type);
  });
  return copy;
}

model::StoredModel StoredWeights::random(const model::ModelConfig& config, quant::WeightType type) {
  model::StoredModel model = model_shapes(config);
  std::uint64_t seed = 100;
  const auto fill = [&](const std::string&, linear::StoredLinear& stored) {
    const float range = std::sqrt(3.0F / static_cast<float>(stored.inputs));  // variance 1 / inputs
    const auto rows = numerics::random_values(stored.outputs * stored.inputs, seed++, range);
    stored = matrix(stored.outputs, stored.inputs, rows, type);
  };
  // Norms around 1, as trained ones are, and biases around 0.
  std::uint64_t vector_seed = 1;
  const auto vary = [&](const std::string& role, std::vector<float>& weights) {
    const float range = role.ends_with("_bias") ? 0.1F : 0.5F;
    const auto size = static_cast<int>(weights.size());
    const std::vector<float> change = numerics::random_values(size, vector_seed++, range);
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] += change[i];
  };
  for_each_weight(model, fill, vary);
  return model;
}

model::ModelConfig wide_llama() { return wide(); }

model::ModelConfig wide_experts() {
  model::ModelConfig config = wide();
  config.experts = model::ExpertsConfig{.experts = 6,
                                        .experts_per_token = 2,
                                        .expert_size = 256,
                                        .normalized = true,
                                        .dense_layers = {true, false}};
  return config;
}

model::ModelConfig wide_sinks() {
  model::ModelConfig config = wide_experts();
  config.activation = model::Activation::clamped_swiglu;
  config.swiglu_alpha = 1.5F;
  config.swiglu_limit = 0.75F;
  config.experts->router_bias = config.experts->expert_bias = true;
  auto& attention = std::get<model::GroupedQueryConfig>(config.attention);
  attention.sinks = attention.qkv_bias = attention.output_bias = true;
  return config;
}

model::ModelConfig wide_latent() {
  model::ModelConfig config = wide();
  config.attention = model::LatentConfig{.heads = 4,
                                         .query_rank = 256,
                                         .kv_rank = 256,
                                         .nope_size = 48,
                                         .rope_size = 32,
                                         .value_size = 64};
  config.rope = {.size = 32, .pairing = model::RopePairing::adjacent};
  config.experts = model::ExpertsConfig{.experts = 8,
                                        .experts_per_token = 3,
                                        .expert_size = 256,
                                        .shared_size = 256,
                                        .score = model::ExpertScore::sigmoid,
                                        .correction_bias = true,
                                        .groups = 4,
                                        .groups_per_token = 2,
                                        .group_best = 2,
                                        .normalized = true,
                                        .routed_scale = 2.5F,
                                        .dense_layers = {true, false}};
  return config;
}

}  // namespace forge::testing
