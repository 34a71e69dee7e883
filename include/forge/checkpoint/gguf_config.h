// The metadata of GGUF as a ModelConfig: what llama.cpp's converter writes for a model.
//
// general.architecture is one of llama (Mistral's models and Mixtral, too), qwen2, qwen2moe, qwen3,
// qwen3moe, deepseek2 (DeepSeek-V2 and V3), olmo2 (OLMo 3, where there is a window), granite,
// smollm3, phi3, glm4, gpt-oss, gemma2 and gemma3; other keys start with it, "llama.block_count".
// Sources: the GGUF specification (https://github.com/ggml-org/ggml, docs/gguf.md), the keys of
// llama.cpp's converter (gguf-py in its repository), and what llama.cpp does with keys that a file
// leaves out. The same tables of keys are walked to write a model.
// Differences from config.json:
//
//   - in `llama` and `granite`, rows of Q and K are in another order, so that components 2i and
//     2i + 1 of a head turn together (RopePairing::adjacent);
//   - Llama 3's scaling of RoPE is a tensor, rope_freqs.weight (TabledRope);
//   - YaRN's temperature 0.1 ln factor + 1 is not in the file, but multiplied in by readers;
//   - LongRoPE's tables are tensors, rope_factors_long.weight and rope_factors_short.weight;
//   - `dynamic` scaling has no key;
//   - which layers have a window is not said where llama.cpp knows it; otherwise Forge writes
//     attention.sliding_window_pattern, 1 or 0 for each layer;
//   - of `smollm3`, every fourth layer has no RoPE;
//   - biases and a head of its own are there where their tensors are;
//   - in `qwen3moe`, experts' weights are normalized unless said otherwise, and all layers have
//     experts;
//   - in `granite`, scores that have no scale of their own have that of other families, and
//     rope.scaling.finetuned says whether heads turn at all: they must;
//   - in `gemma2` and `gemma3`, weights of norms are what they are, while SafeTensors has them less
//     one; the scale of scores is attention.scale where it is not what llama.cpp takes, which
//     depends on the number of layers;
//   - in `olmo2` and `gemma3`, layers with a window have no scaling of RoPE;
//   - in `gpt-oss`, swiglu_alpha is 1.702 and swiglu_limit 7, and YaRN's ramp is not rounded to
//     whole pairs, as its config.json says; no key has them. (llama.cpp rounds the ramp.)
//
// What is special in `deepseek2`:
//
//   - newer files describe attention over latents: one KV head, attention.key_length the latent and
//     the key part that turns; what a head is, attention.key_length_mla and value_length_mla say.
//     Older files have a head's sizes in attention.key_length and value_length. Tensors changed
//     with the keys (StoredLatent::key_up);
//   - YaRN's mscale_all_dim is in the file, times 0.1, as rope.scaling.yarn_log_multiplier; mscale
//     is not, and is taken as equal to it, as it is in DeepSeek's models. So cosines and sines are
//     not scaled, and the softmax scale is multiplied by (0.1 mscale_all_dim ln factor + 1)^2;
//   - the norms of the latents have DeepSeek's epsilon (LatentConfig), which no key says; llama.cpp
//     takes attention.layer_norm_rms_epsilon, in DeepSeek's own models the same number;
//   - files from before expert_gating_func have softmax scores, unless there is a correction bias:
//     those are refused. Files from before expert_group_count choose among all experts;
//   - a group's score is that of its best expert where scores are softmax (V2), and of its two best
//     where they are sigmoid (V3); llama.cpp takes two for both.
//
// Fractions are floats in GGUF: one that is not a float is rounded when it is written.
//
// Pure, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/formats/gguf.h"
#include "forge/formats/gguf_keys.h"
#include "forge/model/model_config.h"

namespace forge::checkpoint {

/// Returns a configuration that validate() accepts. Errors: another architecture; a key is missing,
/// of another kind, out of its range or not supported, named with its value and what is accepted.
tl::expected<model::ModelConfig, formats::FileError> read_gguf_config(const formats::Gguf& gguf);

/// The model as a GGUF file has it: the pairs that turn together, llama3's scaling and the family
/// in GGUF's words. A model of an unknown family is left as it is.
model::ModelConfig as_in_gguf(model::ModelConfig model);

/// Sets general.architecture and the architecture's keys, and those of the tokens that end a text,
/// in the types that llama.cpp's converter gives them. What is read again is as_in_gguf(model), its
/// fractions rounded to floats, in a file with the tensors that the model has. Attention over
/// latents is described in the newer way. Requires: validate() accepts `model`. Errors: the field
/// that GGUF cannot say, with its value; an unknown family.
tl::expected<void, std::string> describe_in_gguf(const model::ModelConfig& model,
                                                 formats::GgufKeys& keys);

/// Whether describe_in_gguf would have an error.
tl::expected<void, std::string> check_for_gguf(const model::ModelConfig& model);

/// Llama 3's scaling as a divisor for each pair; nullopt for other scalings.
std::optional<std::vector<float>> rope_divisors(const model::RopeConfig& rope);

/// A tensor [size / 2] of divisors, one a pair.
struct RopeTable {
  std::string name;
  std::vector<float> divisors;
};

/// The tensors in which GGUF has scalings: rope_freqs.weight for llama3's, rope_factors_long.weight
/// and rope_factors_short.weight for LongRoPE's; none for others.
std::vector<RopeTable> rope_tables(const model::RopeConfig& rope);

}  // namespace forge::checkpoint
