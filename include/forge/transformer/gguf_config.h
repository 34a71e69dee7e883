// The metadata of GGUF as a ModelConfig: what llama.cpp's converter writes for a model.
//
// general.architecture is one of llama (Mistral's models too), qwen2, qwen3 and qwen3moe; other
// keys start with it, "llama.block_count". Sources: the GGUF specification of ggml (docs/gguf.md),
// and what llama.cpp does with keys that a file leaves out. Differences from config.json:
//
//   - in `llama`, rows of Q and K are in another order, so that components 2i and 2i + 1 of a head
//     turn together (RopePairing::adjacent);
//   - Llama 3's scaling of RoPE is a tensor, rope_freqs.weight (TabledRope);
//   - of YaRN, the temperature 0.1 ln factor + 1 is not in the file, but multiplied in by readers;
//   - biases and a head of its own are there where their tensors are;
//   - experts' weights are normalised unless said otherwise, and all layers have experts.
//
// deepseek2 is refused: its files keep the up-projection of keys transposed, and fold YaRN's
// temperature differently from one version of the converter to the next.
//
// Pure, thread-safe.
#pragma once

#include <tl/expected.hpp>

#include "forge/formats/gguf.h"
#include "forge/transformer/model_config.h"

namespace forge {

/// Returns: what validate() accepts. Errors: another architecture; a key is missing, of another
/// kind, out of its range or not supported, named with its value and what is accepted.
tl::expected<ModelConfig, formats::FileError> read_gguf_config(const formats::Gguf& gguf);

}  // namespace forge
