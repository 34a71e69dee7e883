// A checkpoint of the family llama with a tied head, as TinyTransformer takes it.
#pragma once

#include <variant>
#include <vector>

#include "forge/checkpoint/checkpoint.h"
#include "forge/reference/tiny_transformer.h"

namespace forge::testing {

inline reference::Matrix matrix_of(const linear::StoredLinear& stored) {
  reference::Matrix matrix(stored.outputs, stored.inputs);
  for (int row = 0; row < stored.outputs; ++row) stored_row(stored, row, matrix.row(row).data());
  return matrix;
}

inline reference::Vector vector_of(const std::vector<float>& stored) {
  return Eigen::Map<const reference::Vector>(stored.data(),
                                             static_cast<Eigen::Index>(stored.size()));
}

inline reference::LayerWeights weights_of(const model::StoredLayer& layer) {
  const auto& attention = std::get<model::StoredGroupedQuery>(layer.attention);
  const auto& mlp = std::get<model::StoredMlp>(layer.mlp);
  return {.attention_norm = vector_of(layer.attention_norm),
          .query = matrix_of(attention.query),
          .key = matrix_of(attention.key),
          .value = matrix_of(attention.value),
          .output = matrix_of(attention.output),
          .mlp_norm = vector_of(layer.mlp_norm),
          .gate = matrix_of(mlp.gate),
          .up = matrix_of(mlp.up),
          .down = matrix_of(mlp.down)};
}

inline reference::TinyTransformer tiny_transformer_of(const checkpoint::Checkpoint& checkpoint) {
  const model::ModelConfig& c = checkpoint.config();
  const auto& attention = std::get<model::GroupedQueryConfig>(c.attention);
  reference::Weights weights;
  weights.embedding = matrix_of(checkpoint.model().embedding);
  for (const auto& layer : checkpoint.model().layers) weights.layers.push_back(weights_of(layer));
  weights.final_norm = vector_of(checkpoint.model().final_norm);
  return {{.vocabulary_size = c.vocabulary_size,
           .hidden_size = c.hidden_size,
           .layers = c.layers,
           .heads = attention.heads,
           .kv_heads = attention.kv_heads,
           .head_size = attention.head_size,
           .ffn_size = c.ffn_size,
           .rope_base = c.rope.base,
           .norm_eps = c.norm_eps},
          std::move(weights)};
}

}  // namespace forge::testing
