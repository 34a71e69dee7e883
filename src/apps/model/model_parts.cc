#include "model_parts.h"

#include <utility>
#include <variant>

namespace forge::apps {
namespace {

using linear::StoredLinear;

class PartList {
 public:
  void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }
  void matrix(const std::string& name, const StoredLinear& matrix) {
    parts_.push_back({prefix_ + name + ".weight", &matrix, {}});
  }
  void transposed(const std::string& name, const StoredLinear& matrix) {
    parts_.push_back({prefix_ + name + ".weight", &matrix, {}, true});
  }
  void vector(const std::string& name, std::span<const float> vector) {
    if (!vector.empty()) parts_.push_back({prefix_ + name, nullptr, vector});
  }
  std::vector<ModelPart> take() && { return std::move(parts_); }

 private:
  std::string prefix_;
  std::vector<ModelPart> parts_;
};

void list(const model::StoredGroupedQuery& attention, PartList& out) {
  out.matrix("self_attn.q_proj", attention.query);
  out.vector("self_attn.q_proj.bias", attention.query_bias);
  out.matrix("self_attn.k_proj", attention.key);
  out.vector("self_attn.k_proj.bias", attention.key_bias);
  out.matrix("self_attn.v_proj", attention.value);
  out.vector("self_attn.v_proj.bias", attention.value_bias);
  out.vector("self_attn.q_norm.weight", attention.query_norm);
  out.vector("self_attn.k_norm.weight", attention.key_norm);
  out.matrix("self_attn.o_proj", attention.output);
  out.vector("self_attn.o_proj.bias", attention.output_bias);
}

void list(const model::StoredLatent& attention, PartList& out) {
  if (attention.query_down) {
    out.matrix("self_attn.q_a_proj", *attention.query_down);
    out.vector("self_attn.q_a_layernorm.weight", attention.query_norm);
    out.matrix("self_attn.q_b_proj", attention.query_up);
  } else {
    out.matrix("self_attn.q_proj", attention.query_up);
  }
  out.matrix("self_attn.kv_a_proj_with_mqa", attention.kv_down);
  out.vector("self_attn.kv_a_layernorm.weight", attention.kv_norm);
  if (attention.key_up.empty()) out.matrix("self_attn.kv_b_proj", attention.kv_up);
  for (std::size_t head = 0; head < attention.key_up.size(); ++head) {
    // Heads of kv_b_proj, one after the other: rows of the key, rows of the value.
    out.transposed("self_attn.kv_b_proj", attention.key_up[head]);
    out.matrix("self_attn.kv_b_proj", attention.value_up[head]);
  }
  out.matrix("self_attn.o_proj", attention.output);
}

void list(const std::string& name, const model::StoredFeedForward& network, PartList& out) {
  out.matrix(name + "gate_proj", network.gate);
  out.matrix(name + "up_proj", network.up);
  out.matrix(name + "down_proj", network.down);
}

void list(const model::StoredFeedForward& network, PartList& out) { list("mlp.", network, out); }

void list(const model::StoredExperts& experts, PartList& out) {
  out.matrix("mlp.gate", experts.router);
  out.vector("mlp.gate.e_score_correction_bias", experts.correction_bias);
  for (std::size_t i = 0; i < experts.experts.size(); ++i) {
    list("mlp.experts." + std::to_string(i) + ".", experts.experts[i], out);
  }
  if (experts.shared) list("mlp.shared_experts.", *experts.shared, out);
}

StoredLinear shape(int outputs, int inputs) { return {outputs, inputs, linear::StoredRows{}}; }

std::vector<float> filled(int size, float value) {
  return std::vector<float>(static_cast<std::size_t>(size), value);
}
std::vector<float> ones(int size) { return filled(size, 1); }
std::vector<float> zeros_if(bool wanted, int size) { return filled(wanted ? size : 0, 0); }

model::AttentionWeights shapes(const model::GroupedQueryConfig& c, int d) {
  const int query_rows = c.heads * c.head_size;
  const int kv_rows = c.kv_heads * c.head_size;
  model::StoredGroupedQuery out{.query = shape(query_rows, d),
                                .key = shape(kv_rows, d),
                                .value = shape(kv_rows, d),
                                .output = shape(d, query_rows),
                                .query_bias = zeros_if(c.qkv_bias, query_rows),
                                .key_bias = zeros_if(c.qkv_bias, kv_rows),
                                .value_bias = zeros_if(c.qkv_bias, kv_rows),
                                .output_bias = zeros_if(c.output_bias, d),
                                .query_norm = {},
                                .key_norm = {}};
  if (c.query_key_norm != model::QueryKeyNorm::none) {
    const bool row = c.query_key_norm == model::QueryKeyNorm::row;
    out.query_norm = ones(row ? query_rows : c.head_size);
    out.key_norm = ones(row ? kv_rows : c.head_size);
  }
  return out;
}

model::AttentionWeights shapes(const model::LatentConfig& c, int d) {
  model::StoredLatent out;
  const int query_rows = c.heads * (c.nope_size + c.rope_size);
  if (c.query_rank != 0) {
    out.query_down = shape(c.query_rank, d);
    out.query_norm = ones(c.query_rank);
  }
  out.query_up = shape(query_rows, c.query_rank != 0 ? c.query_rank : d);
  out.kv_down = shape(c.kv_rank + c.rope_size, d);
  out.kv_norm = ones(c.kv_rank);
  out.kv_up = shape(c.heads * (c.nope_size + c.value_size), c.kv_rank);
  out.output = shape(d, c.heads * c.value_size);
  return out;
}

model::StoredFeedForward network_shapes(int d, int size) {
  return {.gate = shape(size, d), .up = shape(size, d), .down = shape(d, size)};
}

model::StoredExperts expert_shapes(const model::ExpertsConfig& c, int d) {
  model::StoredExperts out;
  out.router = shape(c.experts, d);
  out.correction_bias = zeros_if(c.correction_bias, c.experts);
  out.experts.assign(static_cast<std::size_t>(c.experts), network_shapes(d, c.expert_size));
  if (c.shared_size > 0) out.shared = network_shapes(d, c.shared_size);
  return out;
}

}  // namespace

std::uint64_t ModelPart::elements() const {
  if (matrix == nullptr) return vector.size();
  return static_cast<std::uint64_t>(matrix->outputs) * static_cast<std::uint64_t>(matrix->inputs);
}

std::vector<ModelPart> parts_of(const model::ModelConfig& config, const model::StoredModel& model) {
  const bool before = config.norm == model::NormPlacement::before;
  PartList out;
  out.matrix("model.embed_tokens", model.embedding);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const model::StoredLayer& layer = model.layers[i];
    out.set_prefix("model.layers." + std::to_string(i) + ".");
    out.vector(before ? "input_layernorm.weight" : "post_attention_layernorm.weight",
               layer.attention_norm);
    std::visit([&](const auto& attention) { list(attention, out); }, layer.attention);
    out.vector(before ? "post_attention_layernorm.weight" : "post_feedforward_layernorm.weight",
               layer.ffn_norm);
    std::visit([&](const auto& network) { list(network, out); }, layer.feed_forward);
  }
  out.set_prefix("");
  out.vector("model.norm.weight", model.final_norm);
  if (model.head) out.matrix("lm_head", *model.head);
  return std::move(out).take();
}

model::StoredModel shapes_of(const model::ModelConfig& config) {
  const int d = config.hidden_size;
  model::StoredModel model;
  model.embedding = shape(config.vocabulary_size, d);
  for (int i = 0; i < config.layers; ++i) {
    model::StoredLayer& layer = model.layers.emplace_back();
    layer.attention_norm = ones(d);
    layer.ffn_norm = ones(d);
    layer.attention =
        std::visit([&](const auto& attention) { return shapes(attention, d); }, config.attention);
    if (is_dense(config, i)) {
      layer.feed_forward = network_shapes(d, config.ffn_size);
    } else {
      layer.feed_forward = expert_shapes(*config.experts, d);
    }
  }
  model.final_norm = ones(d);
  if (!config.tied_head) model.head = shape(config.vocabulary_size, d);
  return model;
}

ParameterCount count_parameters(const model::ModelConfig& config, const model::StoredModel& model) {
  ParameterCount count;
  std::uint64_t of_experts = 0;
  for (const ModelPart& part : parts_of(config, model)) {
    count.total += part.elements();
    if (part.name.find(".mlp.experts.") != std::string::npos) of_experts += part.elements();
  }
  count.active = count.total - of_experts;
  if (config.experts) {
    const auto experts = static_cast<std::uint64_t>(config.experts->experts);
    count.active +=
        of_experts / experts * static_cast<std::uint64_t>(config.experts->experts_per_token);
  }
  return count;
}

}  // namespace forge::apps
