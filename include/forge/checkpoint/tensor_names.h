// The names of tensors: what files of Hugging Face (SafeTensors) and of llama.cpp (GGUF) call the
// weight in a role (weight_roles.h).
//
//   layers.3.attention.query              model.layers.3.self_attn.q_proj.weight
//                                         blk.3.attn_q.weight
//   layers.3.feed_forward.gate            model.layers.3.mlp.gate_proj.weight
//                                         blk.3.ffn_gate.weight
//   layers.3.feed_forward.experts.7.gate  model.layers.3.mlp.experts.7.gate_proj.weight
//                                         blk.3.ffn_gate_exps.weight, matrix 7
//   head                                  lm_head.weight
//                                         output.weight
//
// Some families have the matrices of one input in one tensor, their rows on top of one another: Q,
// K and V, or gate and up; and Gemma's norms in SafeTensors are less one.
//
// gpt-oss has the experts of a layer in one tensor in SafeTensors too, outputs innermost, those of
// gate and up in turn.
//
// GGUF stacks the experts of a layer into one tensor, and the heads of matrices that make keys and
// values from latents; SafeTensors has the latter in one matrix alone. Sources: transformers; names
// of GGUF are those of gguf-py, constants.py (https://github.com/ggml-org/llama.cpp).
// Pure, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "forge/model/model_config.h"

namespace forge::checkpoint {

/// The format of a model on disk.
enum class ModelFormat : std::uint8_t { safetensors, gguf };

/// The place of a matrix in a tensor [count][outputs][inputs].
struct StackPlace {
  int index = 0;
  int count = 1;
  friend bool operator==(const StackPlace&, const StackPlace&) = default;
};

/// The place of a matrix among the rows of a tensor [count][inputs] of several, of projections that
/// take the same input.
struct RowPlace {
  int first = 0;
  int count = 1;
  friend bool operator==(const RowPlace&, const RowPlace&) = default;
};

/// The place of a weight whose outputs alternate with those of others in a tensor: output i is
/// output i * step + first there.
struct StepPlace {
  int first = 0;
  int step = 1;
  friend bool operator==(const StepPlace&, const StepPlace&) = default;
};

struct TensorName {
  std::string name;
  std::optional<StackPlace> place = {};  ///< nullopt: it is no stack, of matrices or of vectors
  std::optional<RowPlace> rows = {};     ///< nullopt: it has all rows of the tensor
  bool flat = false;                     ///< a matrix of one row is a tensor of one dimension
  float offset = 0;  ///< of a vector: the weight is the tensor's number plus this
  std::optional<StepPlace> steps = {};  ///< nullopt: its outputs follow one another
  bool transposed = false;              ///< a matrix of a stack is [inputs][outputs]
  friend bool operator==(const TensorName&, const TensorName&) = default;
};

/// A role with its numbers taken out.
struct RoleParts {
  std::string kind;          ///< "layers.feed_forward.experts.gate"
  std::vector<int> numbers;  ///< those of the layer, and of the expert or the head
};
RoleParts parts_of_role(const std::string& role);

/// The name of the weight in `role` of a model of `config`; nullopt if files of `format` have no
/// such tensor. For a quantized matrix, it is the name that its numbers would have.
std::optional<TensorName> tensor_name(const std::string& role, const model::ModelConfig& config,
                                      ModelFormat format);

}  // namespace forge::checkpoint
