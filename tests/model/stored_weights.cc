#include "model/stored_weights.h"

#include <cmath>

#include "forge/quant/quantize.h"
#include "numerics/test_values.h"

namespace forge::testing {
namespace {

linear::StoredLinear shape(int outputs, int inputs) { return {outputs, inputs, {}}; }

/// Around 1, as trained norms are.
std::vector<float> norm(int size, std::uint64_t seed) {
  auto weights = numerics::random_values(size, seed, 0.5F);
  for (float& w : weights) w += 1;
  return weights;
}

model::StoredFeedForward network(int d, int F) { return {shape(F, d), shape(F, d), shape(d, F)}; }

model::AttentionWeights attention(const model::ModelConfig& config,
                                  const model::GroupedQueryConfig& c) {
  const int d = config.hidden_size;
  model::StoredGroupedQuery s;
  s.query = shape(c.heads * c.head_size, d);
  s.key = s.value = shape(c.kv_heads * c.head_size, d);
  s.output = shape(d, c.heads * c.head_size);
  return s;
}

model::AttentionWeights attention(const model::ModelConfig& config, const model::LatentConfig& c) {
  const int d = config.hidden_size;
  model::StoredLatent s;
  s.query_down = shape(c.query_rank, d);
  s.query_norm = norm(c.query_rank, 11);
  s.query_up = shape(c.heads * (c.nope_size + c.rope_size), c.query_rank);
  s.kv_down = shape(c.kv_rank + c.rope_size, d);
  s.kv_norm = norm(c.kv_rank, 12);
  s.kv_up = shape(c.heads * (c.nope_size + c.value_size), c.kv_rank);
  s.output = shape(d, c.heads * c.value_size);
  return s;
}

model::FeedForwardWeights feed_forward(const model::ModelConfig& config, int layer) {
  const int d = config.hidden_size;
  if (is_dense(config, layer)) return network(d, config.ffn_size);
  model::StoredExperts s;
  s.router = shape(config.experts->experts, d);
  for (int e = 0; e < config.experts->experts; ++e) {
    s.experts.push_back(network(d, config.experts->expert_size));
  }
  if (config.experts->shared_size > 0) s.shared = network(d, config.experts->shared_size);
  if (config.experts->correction_bias) {
    s.correction_bias = numerics::random_values(config.experts->experts, 13, 0.1F);
  }
  return s;
}

struct MatricesOf {
  const std::function<void(linear::StoredLinear&)>& body;

  void operator()(model::StoredGroupedQuery& s) const {
    for (auto* matrix : {&s.query, &s.key, &s.value, &s.output}) body(*matrix);
  }
  void operator()(model::StoredLatent& s) const {
    if (s.query_down) body(*s.query_down);
    for (auto* matrix : {&s.query_up, &s.kv_down, &s.output}) body(*matrix);
    if (s.key_up.empty()) body(s.kv_up);
    for (auto* heads : {&s.key_up, &s.value_up}) {
      for (linear::StoredLinear& head : *heads) body(head);
    }
  }
  void operator()(model::StoredFeedForward& s) const {
    for (auto* matrix : {&s.gate, &s.up, &s.down}) body(*matrix);
  }
  void operator()(model::StoredExperts& s) const {
    body(s.router);
    for (model::StoredFeedForward& expert : s.experts) (*this)(expert);
    if (s.shared) (*this)(*s.shared);
  }
};

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
  const MatricesOf matrices{body};
  body(model.embedding);
  for (model::StoredLayer& layer : model.layers) {
    std::visit(matrices, layer.attention);
    std::visit(matrices, layer.feed_forward);
  }
  if (model.head) body(*model.head);
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
  model::StoredModel model;
  model.embedding = shape(config.vocabulary_size, config.hidden_size);
  if (!config.tied_head) model.head = model.embedding;
  model.final_norm = norm(config.hidden_size, 1);
  for (int layer = 0; layer < config.layers; ++layer) {
    model.layers.push_back(
        {norm(config.hidden_size, 2),
         std::visit([&](const auto& c) { return attention(config, c); }, config.attention),
         norm(config.hidden_size, 3), feed_forward(config, layer)});
  }
  std::uint64_t seed = 100;
  for_each_matrix(model, [&](linear::StoredLinear& stored) {
    const float range = std::sqrt(3.0F / static_cast<float>(stored.inputs));  // variance 1 / inputs
    const auto rows = numerics::random_values(stored.outputs * stored.inputs, seed++, range);
    stored = matrix(stored.outputs, stored.inputs, rows, type);
  });
  return model;
}

model::ModelConfig wide_llama() { return wide(); }

model::ModelConfig wide_experts() {
  model::ModelConfig config = wide();
  config.experts = model::ExpertsConfig{.experts = 6,
                                        .experts_per_token = 2,
                                        .expert_size = 256,
                                        .normalised = true,
                                        .dense_layers = {true, false}};
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
                                        .normalised = true,
                                        .routed_scale = 2.5F,
                                        .dense_layers = {true, false}};
  return config;
}

}  // namespace forge::testing
