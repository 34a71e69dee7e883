// LoRA adapters: small changes of a model's matrices, merged into them when the model is loaded.
//
// An adapter is a folder as PEFT writes it: adapter_config.json, and adapter_model.safetensors with
// two tensors for each linear layer that it changes, in F32, F16 or BF16:
//
//   base_model.model.MODULE.lora_A.weight [r][inputs]
//   base_model.model.MODULE.lora_B.weight [outputs][r]
//
// MODULE is the layer's name in transformers, "model.layers.0.self_attn.q_proj", whatever format
// the base has: names and orders of rows are those of file_tensors.h, so an adapter also goes on a
// GGUF file, and on tensors that have the rows of several matrices (Phi-3's qkv_proj). The layer
// becomes
//
//   W'[n][k] = W[n][k] + factor * sum over j of B[n][j] A[j][k]
//   factor   = scale * (alpha / r), or scale * (alpha / sqrt(r)) with use_rslora
//
// in double: the products of a sum, which are exact, are added from j = 0 up; adapters are added in
// the order in which they are given; and the result is rounded once, to nearest, ties to even. It
// is stored in the type of the base where that is F32, F16 or BF16, and in BF16 where the base has
// codes. An adapter whose scale is 0 is checked and leaves every matrix as it is.
//
// Refused, by its key or its tensor: what would compute something else (DoRA, biases, layers that
// are replaced or replicated, adapters of embeddings, ...), and what does not fit the base. Where
// target_modules is a list and no key takes layers out, every layer of the base that it names must
// be there, but for experts, which PEFT does not see as linear layers.
//
// Source: Hu et al., arXiv:2106.09685 (LoRA); Kalajdzievski, arXiv:2312.03732 (use_rslora); the
// keys and names are those of PEFT (https://github.com/huggingface/peft).
// Pure, thread-safe.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace forge::checkpoint {

/// An adapter, and how much of it.
struct LoraSource {
  std::string path;  ///< its folder
  double scale = 1;  ///< multiplies what it changes
  friend bool operator==(const LoraSource&, const LoraSource&) = default;
};

/// "DIR" or "DIR:0.5". What follows the last colon is the scale, unless there is a slash in it.
/// Errors: the folder has no name; the scale is no finite number.
tl::expected<LoraSource, std::string> parse_lora(const std::string& text);

}  // namespace forge::checkpoint
