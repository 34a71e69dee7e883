#include "read_model.h"

#include <utility>

namespace forge::checkpoint::detail {
namespace {

/// Reads one layer: `prefix_` is "model.layers.N.".
class LayerReader {
 public:
  LayerReader(const model::ModelConfig& config, TensorSource& source, int layer)
      : config_(config),
        source_(source),
        layer_(layer),
        prefix_("model.layers." + std::to_string(layer) + ".") {}

  model::StoredLayer read() {
    // OLMo 2 calls the two norms after the sub-layers so.
    const bool before = config_.norm == model::NormPlacement::before;
    model::StoredLayer layer;
    layer.attention_norm = norm(before ? "input_layernorm" : "post_attention_layernorm");
    layer.ffn_norm = norm(before ? "post_attention_layernorm" : "post_feedforward_layernorm");
    layer.attention = std::visit([&](const auto& attention) { return read_attention(attention); },
                                 config_.attention);
    if (is_dense(config_, layer_)) {
      layer.feed_forward = feed_forward("mlp.", config_.ffn_size);
    } else {
      layer.feed_forward = read_experts(*config_.experts);
    }
    return layer;
  }

 private:
  std::vector<float> norm(const std::string& name) {
    return source_.vector(prefix_ + name + ".weight", config_.hidden_size);
  }
  std::vector<float> attention_vector(const std::string& name, int size) {
    return source_.vector(prefix_ + "self_attn." + name, size);
  }
  linear::StoredLinear attention_matrix(const std::string& name, int outputs, int inputs) {
    return source_.matrix(prefix_ + "self_attn." + name, outputs, inputs);
  }

  model::AttentionWeights read_attention(const model::GroupedQueryConfig& c) {
    const int d = config_.hidden_size;
    const int query_rows = c.heads * c.head_size;
    const int kv_rows = c.kv_heads * c.head_size;
    model::StoredGroupedQuery out;
    out.query = attention_matrix("q_proj", query_rows, d);
    out.key = attention_matrix("k_proj", kv_rows, d);
    out.value = attention_matrix("v_proj", kv_rows, d);
    out.output = attention_matrix("o_proj", d, query_rows);
    if (c.qkv_bias) {
      out.query_bias = attention_vector("q_proj.bias", query_rows);
      out.key_bias = attention_vector("k_proj.bias", kv_rows);
      out.value_bias = attention_vector("v_proj.bias", kv_rows);
    }
    if (c.output_bias) out.output_bias = attention_vector("o_proj.bias", d);
    if (c.query_key_norm != model::QueryKeyNorm::none) {
      const bool row = c.query_key_norm == model::QueryKeyNorm::row;
      out.query_norm = attention_vector("q_norm.weight", row ? query_rows : c.head_size);
      out.key_norm = attention_vector("k_norm.weight", row ? kv_rows : c.head_size);
    }
    return out;
  }

  model::AttentionWeights read_attention(const model::LatentConfig& c) {
    const int d = config_.hidden_size;
    const int query_rows = c.heads * (c.nope_size + c.rope_size);
    model::StoredLatent out;
    if (c.query_rank == 0) {
      out.query_up = attention_matrix("q_proj", query_rows, d);
    } else {
      out.query_down = attention_matrix("q_a_proj", c.query_rank, d);
      out.query_norm = attention_vector("q_a_layernorm.weight", c.query_rank);
      out.query_up = attention_matrix("q_b_proj", query_rows, c.query_rank);
    }
    out.kv_down = attention_matrix("kv_a_proj_with_mqa", c.kv_rank + c.rope_size, d);
    out.kv_norm = attention_vector("kv_a_layernorm.weight", c.kv_rank);
    read_kv_up(c, out);
    out.output = attention_matrix("o_proj", d, c.heads * c.value_size);
    return out;
  }

  /// In one matrix, or by heads where that is what the file has.
  void read_kv_up(const model::LatentConfig& c, model::StoredLatent& out) {
    const std::string attention = prefix_ + "self_attn.";
    const bool whole = source_.has(attention + "kv_b_proj.weight");
    if (whole || !source_.has(attention + "k_b_proj.weight")) {
      out.kv_up = attention_matrix("kv_b_proj", c.heads * (c.nope_size + c.value_size), c.kv_rank);
      return;
    }
    out.key_up = source_.stack(attention + "k_b_proj", c.heads, c.kv_rank, c.nope_size);
    out.value_up = source_.stack(attention + "v_b_proj", c.heads, c.value_size, c.kv_rank);
  }

  model::StoredFeedForward feed_forward(const std::string& name, int size) {
    const int d = config_.hidden_size;
    return {.gate = source_.matrix(prefix_ + name + "gate_proj", size, d),
            .up = source_.matrix(prefix_ + name + "up_proj", size, d),
            .down = source_.matrix(prefix_ + name + "down_proj", d, size)};
  }

  model::StoredExperts read_experts(const model::ExpertsConfig& c) {
    model::StoredExperts out;
    out.router = source_.matrix(prefix_ + "mlp.gate", c.experts, config_.hidden_size);
    if (c.correction_bias) {
      out.correction_bias = source_.vector(prefix_ + "mlp.gate.e_score_correction_bias", c.experts);
    }
    for (int expert = 0; expert < c.experts && !source_.failed(); ++expert) {
      const std::string name = "mlp.experts." + std::to_string(expert) + ".";
      out.experts.push_back(feed_forward(name, c.expert_size));
    }
    if (c.shared_size > 0) out.shared = feed_forward("mlp.shared_experts.", c.shared_size);
    return out;
  }

  const model::ModelConfig& config_;
  TensorSource& source_;
  int layer_;
  std::string prefix_;
};

}  // namespace

tl::expected<model::StoredModel, formats::FileError> read_model(const model::ModelConfig& config,
                                                                TensorSource& source) {
  model::StoredModel model;
  model.embedding = source.matrix("model.embed_tokens", config.vocabulary_size, config.hidden_size);
  for (int layer = 0; layer < config.layers && !source.failed(); ++layer) {
    model.layers.push_back(LayerReader(config, source, layer).read());
  }
  model.final_norm = source.vector("model.norm.weight", config.hidden_size);
  if (!config.tied_head) {
    model.head = source.matrix("lm_head", config.vocabulary_size, config.hidden_size);
  }
  if (source.failed()) return tl::unexpected(*source.fault());
  return model;
}

}  // namespace forge::checkpoint::detail
