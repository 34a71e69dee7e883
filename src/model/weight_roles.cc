#include "forge/model/weight_roles.h"

namespace forge::model {
namespace {

using linear::StoredLinear;

/// Where a visit is: below the role `path`, which ends in a dot.
class Walk {
 public:
  Walk(const WeightVisitor& visitor, std::string path)
      : visitor_(visitor), path_(std::move(path)) {}

  void visit(const char* name, const StoredLinear& weight) const {
    if (weight.outputs > 0) visitor_.matrix(path_ + name, weight);
  }
  void visit(const char* name, const std::vector<float>& weight) const {
    if (!weight.empty()) visitor_.vector(path_ + name, weight);
  }
  template <class Weight>
  void visit(const char* name, const std::optional<Weight>& weight) const {
    if (weight) visit(name, *weight);
  }
  template <class Weight>
  void visit(const char* name, const std::vector<Weight>& weights) const {
    const Walk list = below(name);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      list.visit(std::to_string(i).c_str(), weights[i]);
    }
  }
  template <class... Weights>
  void visit(const char* name, const std::variant<Weights...>& weight) const {
    std::visit([&](const auto& kind) { visit(name, kind); }, weight);
  }

  void visit(const char* name, const StoredFeedForward& network) const {
    const Walk walk = below(name);
    walk.visit("gate", network.gate);
    walk.visit("up", network.up);
    walk.visit("down", network.down);
  }

  void visit(const char* name, const StoredExperts& experts) const {
    const Walk walk = below(name);
    walk.visit("router", experts.router);
    walk.visit("correction_bias", experts.correction_bias);
    walk.visit("experts", experts.experts);
    walk.visit("shared", experts.shared);
  }

  void visit(const char* name, const StoredGroupedQuery& attention) const {
    const Walk walk = below(name);
    walk.visit("query", attention.query);
    walk.visit("key", attention.key);
    walk.visit("value", attention.value);
    walk.visit("output", attention.output);
    walk.visit("query_bias", attention.query_bias);
    walk.visit("key_bias", attention.key_bias);
    walk.visit("value_bias", attention.value_bias);
    walk.visit("output_bias", attention.output_bias);
    walk.visit("query_norm", attention.query_norm);
    walk.visit("key_norm", attention.key_norm);
  }

  void visit(const char* name, const StoredLatent& attention) const {
    const Walk walk = below(name);
    walk.visit("query_down", attention.query_down);
    walk.visit("query_norm", attention.query_norm);
    walk.visit("query_up", attention.query_up);
    walk.visit("kv_down", attention.kv_down);
    walk.visit("kv_norm", attention.kv_norm);
    walk.visit("output", attention.output);
    walk.visit("kv_up", attention.kv_up);
    walk.visit("key_up", attention.key_up);
    walk.visit("value_up", attention.value_up);
  }

  void visit(const char* name, const StoredLayer& layer) const {
    const Walk walk = below(name);
    walk.visit("attention_norm", layer.attention_norm);
    walk.visit("attention", layer.attention);
    walk.visit("ffn_norm", layer.ffn_norm);
    walk.visit("feed_forward", layer.feed_forward);
  }

 private:
  Walk below(const char* name) const { return {visitor_, path_ + name + "."}; }

  const WeightVisitor& visitor_;
  std::string path_;
};

}  // namespace

void for_each_weight(const StoredModel& model, const WeightVisitor& visitor) {
  const Walk walk(visitor, "");
  walk.visit("embedding", model.embedding);
  walk.visit("layers", model.layers);
  walk.visit("final_norm", model.final_norm);
  walk.visit("head", model.head);
}

}  // namespace forge::model
