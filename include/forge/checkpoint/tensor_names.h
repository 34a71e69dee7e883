// The names of tensors: those of Hugging Face, which Forge uses, and those of GGUF.
//
//   model.layers.3.self_attn.q_proj.weight             blk.3.attn_q.weight
//   model.layers.3.mlp.gate_proj.weight                blk.3.ffn_gate.weight
//   model.layers.3.mlp.experts.7.gate_proj.weight      blk.3.ffn_gate_exps.weight, matrix 7
//   lm_head.weight                                     output.weight
//
// The names that every family shares with Llama, and those of its norms, biases and experts; GGUF
// stacks the experts of a layer into one tensor. Pure, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace forge::checkpoint {

struct GgufName {
  std::string name;
  std::optional<int> expert;  ///< which matrix of a stack, where it is one

  friend bool operator==(const GgufName&, const GgufName&) = default;
};

/// What GGUF calls the tensor that checkpoints of Hugging Face call `name`; none if it has no name
/// for it. Layers and experts are numbers up to six digits, without leading zeros.
std::optional<GgufName> gguf_name(std::string_view name);

/// Inverse of gguf_name.
std::optional<std::string> hf_name(const GgufName& name);

}  // namespace forge::checkpoint
