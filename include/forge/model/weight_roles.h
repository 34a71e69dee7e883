// Roles as names: "layers.3.attention.query" is the matrix StoredModel::layers[3].attention.query.
//
// A role is the path of a weight in stored_model.h, its parts with dots between them; an index into
// a list is a part, too. It says what a weight is for, whatever a checkpoint calls it: the same in
// SafeTensors ("model.layers.3.self_attn.q_proj.weight") and in GGUF ("blk.3.attn_q.weight").
//
//   embedding                                  final_norm                          head
//   layers.0.attention_norm                    layers.0.ffn_norm
//   layers.0.attention.query                   layers.0.feed_forward.gate
//   layers.0.attention.key_up.2                layers.0.feed_forward.experts.7.down
//                                              layers.0.feed_forward.shared.up
//
// Reading a model, writing it, counting it and taking its digest are walks over the tables below.
#pragma once

#include <string>
#include <tuple>
#include <type_traits>

#include "forge/model/stored_model.h"

namespace forge::model {
namespace detail {

template <class Owner, class Weight>
struct Member {
  const char* name;
  Weight Owner::*weight;
};
template <class Owner, class Weight>
Member(const char*, Weight Owner::*) -> Member<Owner, Weight>;

/// The members of a type of stored_model.h, in the order in which it declares them.
template <class Owner>
struct Members;

template <>
struct Members<StoredMlp> {
  static constexpr std::tuple kTable{
      Member{"gate", &StoredMlp::gate},       Member{"up", &StoredMlp::up},
      Member{"down", &StoredMlp::down},       Member{"gate_bias", &StoredMlp::gate_bias},
      Member{"up_bias", &StoredMlp::up_bias}, Member{"down_bias", &StoredMlp::down_bias}};
};
template <>
struct Members<StoredExperts> {
  static constexpr std::tuple kTable{Member{"router", &StoredExperts::router},
                                     Member{"correction_bias", &StoredExperts::correction_bias},
                                     Member{"experts", &StoredExperts::experts},
                                     Member{"shared", &StoredExperts::shared},
                                     Member{"shared_gate", &StoredExperts::shared_gate},
                                     Member{"router_bias", &StoredExperts::router_bias}};
};
template <>
struct Members<StoredGroupedQuery> {
  static constexpr std::tuple kTable{Member{"query", &StoredGroupedQuery::query},
                                     Member{"key", &StoredGroupedQuery::key},
                                     Member{"value", &StoredGroupedQuery::value},
                                     Member{"output", &StoredGroupedQuery::output},
                                     Member{"query_bias", &StoredGroupedQuery::query_bias},
                                     Member{"key_bias", &StoredGroupedQuery::key_bias},
                                     Member{"value_bias", &StoredGroupedQuery::value_bias},
                                     Member{"output_bias", &StoredGroupedQuery::output_bias},
                                     Member{"query_norm", &StoredGroupedQuery::query_norm},
                                     Member{"key_norm", &StoredGroupedQuery::key_norm},
                                     Member{"sinks", &StoredGroupedQuery::sinks}};
};
template <>
struct Members<StoredLatent> {
  static constexpr std::tuple kTable{Member{"query_down", &StoredLatent::query_down},
                                     Member{"query_norm", &StoredLatent::query_norm},
                                     Member{"query_up", &StoredLatent::query_up},
                                     Member{"kv_down", &StoredLatent::kv_down},
                                     Member{"kv_norm", &StoredLatent::kv_norm},
                                     Member{"output", &StoredLatent::output},
                                     Member{"kv_up", &StoredLatent::kv_up},
                                     Member{"key_up", &StoredLatent::key_up},
                                     Member{"value_up", &StoredLatent::value_up}};
};
template <>
struct Members<StoredLayer> {
  static constexpr std::tuple kTable{
      Member{"attention_norm", &StoredLayer::attention_norm},
      Member{"attention", &StoredLayer::attention},
      Member{"ffn_norm", &StoredLayer::mlp_norm},
      Member{"feed_forward", &StoredLayer::mlp},
      Member{"attention_post_norm", &StoredLayer::attention_post_norm},
      Member{"ffn_post_norm", &StoredLayer::mlp_post_norm}};
};
template <>
struct Members<StoredModel> {
  static constexpr std::tuple kTable{
      Member{"embedding", &StoredModel::embedding}, Member{"layers", &StoredModel::layers},
      Member{"final_norm", &StoredModel::final_norm}, Member{"head", &StoredModel::head}};
};

/// Visits a member of any of the types that members have.
template <class OnMatrix, class OnVector>
struct WeightWalk {
  const OnMatrix& on_matrix;
  const OnVector& on_vector;

  template <class Part>
  void visit(const std::string& path, Part& part) const {
    if constexpr (std::is_same_v<const Part, const linear::StoredLinear>) {
      if (part.outputs > 0) on_matrix(path, part);
    } else if constexpr (std::is_same_v<const Part, const std::vector<float>>) {
      if (!part.empty()) on_vector(path, part);
    } else if constexpr (requires { part.has_value(); }) {
      if (part) visit(path, *part);
    } else if constexpr (requires { part.valueless_by_exception(); }) {
      std::visit([&](auto& kind) { visit(path, kind); }, part);
    } else if constexpr (requires { part.size(); }) {
      for (std::size_t i = 0; i < part.size(); ++i) {
        visit(path + "." + std::to_string(i), part[i]);
      }
    } else {
      const std::string prefix = path.empty() ? path : path + ".";
      std::apply([&](const auto&... m) { (visit(prefix + m.name, part.*m.weight), ...); },
                 Members<std::remove_const_t<Part>>::kTable);
    }
  }
};

}  // namespace detail

/// Calls on_matrix(role, StoredLinear&) or on_vector(role, std::vector<float>&) for all weights
/// that `part` has, each once, in the order in which stored_model.h declares them; const where
/// `part` is. A matrix is passed by reference to its place, so its address tells it from all
/// others. `part` is a StoredModel, or the part of one that `path` names: a layer, for "layers.3".
template <class Part, class OnMatrix, class OnVector>
void for_each_weight(Part& part, const OnMatrix& on_matrix, const OnVector& on_vector,
                     const std::string& path = "") {
  detail::WeightWalk<OnMatrix, OnVector>{on_matrix, on_vector}.visit(path, part);
}

}  // namespace forge::model
