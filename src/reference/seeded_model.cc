#include "forge/reference/seeded_model.h"

#include "forge/core/check.h"
#include "forge/numerics/canonical.h"
#include "forge/reference/weights.h"

namespace forge::reference {
namespace {

linear::StoredLinear stored(const Matrix& matrix) {
  return {.outputs = static_cast<int>(matrix.rows()),
          .inputs = static_cast<int>(matrix.cols()),
          .form = linear::StoredRows{quant::WeightType::f32,
                                     reinterpret_cast<const std::byte*>(matrix.data())}};
}

std::vector<float> stored(const Vector& vector) { return {vector.begin(), vector.end()}; }

model::StoredLayer stored(const LayerWeights& w) {
  model::StoredGroupedQuery attention;
  attention.query = stored(w.query);
  attention.key = stored(w.key);
  attention.value = stored(w.value);
  attention.output = stored(w.output);
  return {.attention_norm = stored(w.attention_norm),
          .attention = std::move(attention),
          .mlp_norm = stored(w.mlp_norm),
          .mlp = model::StoredMlp{stored(w.gate), stored(w.up), stored(w.down)}};
}

}  // namespace

model::ModelConfig model_config(const TinyConfig& c) {
  return {.family = "llama",
          .vocabulary_size = c.vocabulary_size,
          .hidden_size = c.hidden_size,
          .layers = c.layers,
          .ffn_size = c.ffn_size,
          .positions = model::kPositionsMax,
          .norm_eps = c.norm_eps,
          .attention =
              model::GroupedQueryConfig{
                  .heads = c.heads, .kv_heads = c.kv_heads, .head_size = c.head_size},
          .attention_scale = numerics::rsqrt(static_cast<float>(c.head_size)),
          .rope = c.rope(),
          .tied_head = true,
          .eos = {0}};
}

model::StoredModel stored_model(const Weights& weights) {
  model::StoredModel model{.embedding = stored(weights.embedding),
                           .final_norm = stored(weights.final_norm)};
  for (const LayerWeights& layer : weights.layers) model.layers.push_back(stored(layer));
  return model;
}

model::Transformer transformer_of(const TinyConfig& config, const Weights& weights,
                                  linear::ThreadPool& pool) {
  auto packed = pack(model_config(config), stored_model(weights), pool);
  FORGE_CHECK(packed.has_value(), "weights are not finite");
  return {model_config(config), *std::move(packed)};
}

SeededModel::SeededModel(const TinyConfig& config, linear::ThreadPool& pool)
    : weights_(std::make_shared<Weights>(seeded_weights(config))),
      stored_(stored_model(*weights_)),
      transformer_(transformer_of(config, *weights_, pool)) {}

}  // namespace forge::reference
