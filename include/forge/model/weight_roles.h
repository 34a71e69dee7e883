// Roles as names: "layers.3.attention.query" is the matrix StoredModel::layers[3].attention.query.
//
// A role is the path of a weight in stored_model.h, its parts with dots between them; of a list the
// index is a part. It says what a weight is for, whatever a checkpoint calls it: the same in
// SafeTensors ("model.layers.3.self_attn.q_proj.weight") and in GGUF ("blk.3.attn_q.weight").
//
//   embedding                                  final_norm                          head
//   layers.0.attention_norm                    layers.0.ffn_norm
//   layers.0.attention.query                   layers.0.feed_forward.gate
//   layers.0.attention.key_up.2                layers.0.feed_forward.experts.7.down
//                                              layers.0.feed_forward.shared.up
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "forge/model/stored_model.h"

namespace forge::model {

/// Called with a weight and its role.
struct WeightVisitor {
  std::function<void(const std::string& role, const linear::StoredLinear& weight)> matrix;
  std::function<void(const std::string& role, const std::vector<float>& weight)> vector;
};

/// Visits all weights that `model` has, each once, in the order in which stored_model.h declares
/// them. A matrix is passed as it lies in `model`, so its address tells it from all others.
void for_each_weight(const StoredModel& model, const WeightVisitor& visitor);

}  // namespace forge::model
