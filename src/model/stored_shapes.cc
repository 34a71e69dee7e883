#include "forge/model/stored_shapes.h"

namespace forge::model {
namespace {

linear::StoredLinear shape(int outputs, int inputs) {
  return {outputs, inputs, linear::StoredRows{}};
}

std::vector<float> ones(int size) { return std::vector<float>(static_cast<std::size_t>(size), 1); }
std::vector<float> zeros(bool wanted, int size) {
  return std::vector<float>(static_cast<std::size_t>(wanted ? size : 0), 0);
}

AttentionWeights attention(const GroupedQueryConfig& c, int d, LatentLayout) {
  const int query_rows = c.heads * c.head_size;
  const int kv_rows = c.kv_heads * c.head_size;
  StoredGroupedQuery out{.query = shape(query_rows, d),
                         .key = shape(kv_rows, d),
                         .value = shape(kv_rows, d),
                         .output = shape(d, query_rows),
                         .query_bias = zeros(c.qkv_bias, query_rows),
                         .key_bias = zeros(c.qkv_bias, kv_rows),
                         .value_bias = zeros(c.qkv_bias, kv_rows),
                         .output_bias = zeros(c.output_bias, d),
                         .query_norm = {},
                         .key_norm = {},
                         .sinks = zeros(c.sinks, c.heads)};
  if (c.query_key_norm != QueryKeyNorm::none) {
    const bool row = c.query_key_norm == QueryKeyNorm::row;
    out.query_norm = ones(row ? query_rows : c.head_size);
    out.key_norm = ones(row ? kv_rows : c.head_size);
  }
  return out;
}

AttentionWeights attention(const LatentConfig& c, int d, LatentLayout layout) {
  StoredLatent out;
  if (c.query_rank > 0) {
    out.query_down = shape(c.query_rank, d);
    out.query_norm = ones(c.query_rank);
  }
  out.query_up = shape(c.heads * (c.nope_size + c.rope_size), c.query_rank > 0 ? c.query_rank : d);
  out.kv_down = shape(c.kv_rank + c.rope_size, d);
  out.kv_norm = ones(c.kv_rank);
  out.output = shape(d, c.heads * c.value_size);
  if (layout == LatentLayout::whole) {
    out.kv_up = shape(c.heads * (c.nope_size + c.value_size), c.kv_rank);
  } else {
    const auto heads = static_cast<std::size_t>(c.heads);
    out.key_up.assign(heads, shape(c.kv_rank, c.nope_size));
    out.value_up.assign(heads, shape(c.value_size, c.kv_rank));
  }
  return out;
}

StoredMlp mlp(int d, int size, bool bias = false) {
  return {.gate = shape(size, d),
          .up = shape(size, d),
          .down = shape(d, size),
          .gate_bias = zeros(bias, size),
          .up_bias = zeros(bias, size),
          .down_bias = zeros(bias, d)};
}

StoredExperts experts(const ExpertsConfig& c, int d) {
  StoredExperts out;
  out.router = shape(c.experts, d);
  out.correction_bias = zeros(c.correction_bias, c.experts);
  out.experts.assign(static_cast<std::size_t>(c.experts), mlp(d, c.expert_size, c.expert_bias));
  if (c.shared_size > 0) out.shared = mlp(d, c.shared_size);
  if (c.shared_gate) out.shared_gate = shape(1, d);
  out.router_bias = zeros(c.router_bias, c.experts);
  return out;
}

}  // namespace

StoredLayer layer_shapes(const ModelConfig& config, int layer, LatentLayout layout) {
  const int d = config.hidden_size;
  StoredLayer out;
  out.attention_norm = ones(d);
  out.attention =
      std::visit([&](const auto& c) { return attention(c, d, layout); }, config.attention);
  out.mlp_norm = ones(d);
  if (is_dense(config, layer)) {
    out.mlp = mlp(d, config.ffn_size, config.mlp_bias);
  } else {
    out.mlp = experts(*config.experts, d);
  }
  if (config.norm == NormPlacement::around) {
    out.attention_post_norm = ones(d);
    out.mlp_post_norm = ones(d);
  }
  return out;
}

StoredModel model_shapes(const ModelConfig& config, LatentLayout layout) {
  StoredModel out = outer_shapes(config);
  for (int layer = 0; layer < config.layers; ++layer) {
    out.layers.push_back(layer_shapes(config, layer, layout));
  }
  return out;
}

StoredModel outer_shapes(const ModelConfig& config) {
  StoredModel out;
  out.embedding = shape(config.vocabulary_size, config.hidden_size);
  out.final_norm = ones(config.hidden_size);
  if (!config.tied_head) out.head = out.embedding;
  return out;
}

}  // namespace forge::model
