// Families: what tells published models apart, a line each, for both formats, read and written.
//
// A dense family of the kind that ModelConfig computes is one entry of the table in families.cc.
// Defaults are those of the family's configuration class in transformers; architectures and the
// order of pairs in GGUF are those of llama.cpp's converter.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forge/model/model_config.h"
#include "key_names.h"

namespace forge::checkpoint::detail {

/// Which of the attention's projections have biases: all as attention_bias says, none, or those of
/// Q, K and V: as in all models of the family, as qkv_bias says, or as attention_bias says.
enum class Biases : std::uint8_t {
  all_if_said,
  all_unless_denied,
  none,
  query_key_value,
  query_key_value_unless_denied,
  query_key_value_if_said
};

/// A window of sliding_window tokens: never, always, or where use_sliding_window says.
enum class Window : std::uint8_t { never, always, if_used };

/// The layers that have the window where layer_types is left out: all, those from
/// max_window_layers on, every other one before it, or those without RoPE.
enum class WindowLayers : std::uint8_t { all, from_max, alternating_before_max, unturned };

/// The keys that experts have, and what they mean where they are left out.
enum class Experts : std::uint8_t {
  none,
  qwen,
  qwen_shared,
  mixtral,
  gpt_oss,
  deepseek_v2,
  deepseek_v3
};

/// The names of tensors where they are not Llama's (tensor_names.cc).
enum class Tensors : std::uint8_t { usual, mixtral, gpt_oss, qwen_shared, fused, gemma, glm };

/// What tells a family from the others of its architecture in GGUF: nothing, as it is the first of
/// them; or it is not told apart; or by its experts, its window, or scores that are sigmoid.
enum class InGguf : std::uint8_t { first, unknown, by_experts, by_window, by_sigmoid };

/// What a family has. A member that is left out says what Llama has.
struct Family {
  std::string_view model_type;    ///< of config.json; ModelConfig::family
  std::string_view class_name;    ///< of transformers
  std::string_view architecture;  ///< of GGUF; several families may share one
  InGguf in_gguf = InGguf::first;

  model::NormPlacement norm = model::NormPlacement::before;
  model::QueryKeyNorm query_key_norm = model::QueryKeyNorm::none;
  Biases biases = Biases::all_if_said;
  bool mlp_bias = false;  ///< the MLP has biases where mlp_bias says
  Window window = Window::never;
  WindowLayers window_layers = WindowLayers::all;
  int full_period = 0;       ///< n: where layer_types is left out, every nth layer has no window
  bool period_said = false;  ///< sliding_window_pattern says another n
  int unturned_period = 0;   ///< n: where no_rope_layers is left out, every nth layer has no RoPE
  bool latent = false;       ///< its attention is over latents
  bool multipliers = false;
  bool scaled_embedding = false;  ///< the embedding is multiplied by the root of the hidden size
  bool caps = false;              ///< scores and logits may have soft caps
  bool sinks = false;             ///< the heads of attention have sinks
  bool query_scalar = false;      ///< scores have the scale query_pre_attn_scalar^-1/2
  model::Activation activation = model::Activation::silu;
  Experts experts = Experts::none;
  Tensors tensors = Tensors::usual;
  bool norms_from_one = false;  ///< SafeTensors has weights of norms less one; GGUF as they are
  bool partial_rotary = false;  ///< partial_rotary_factor counts
  bool window_rope = false;     ///< layers with a window have a RoPE of their own
  bool usual_yarn = false;      ///< without rope_scaling, RoPE is scaled by YaRN; see hf_rope.cc
  bool gguf_truncate = true;    ///< YarnRope::truncate of GGUF, which no key says
  model::RopePairing hf_pairing = model::RopePairing::halves;
  model::RopePairing gguf_pairing = model::RopePairing::halves;

  int positions = 2048;         ///< where config.json leaves max_position_embeddings out
  int original_positions = 0;   ///< likewise original_max_position_embeddings; 0: positions
  double norm_eps = 1e-6;       ///< where it leaves rms_norm_eps out
  int head_size = 0;            ///< where it leaves head_dim out; 0: hidden size / heads
  bool tied = false;            ///< where it leaves tie_word_embeddings out
  int window_size = 4096;       ///< where it leaves sliding_window out
  double rope_base = 10000;     ///< where it leaves rope_theta out
  double window_rope_base = 0;  ///< the same of layers with a window; 0: rope_theta
  double rotary_factor = 1;     ///< where it leaves partial_rotary_factor out
  double score_cap = 0;         ///< where it leaves attn_logit_softcapping out
  double logits_cap = 0;        ///< where it leaves final_logit_softcapping out
};

/// A model that is being read.
struct Reading {
  const Family& family;
  model::ModelConfig model;
  std::vector<KeyName> names;  ///< the file's names for its fields; the first of a field counts
  std::vector<std::string> notes = {};  ///< what was assumed, a line each
};

/// All there are: the table.
std::span<const Family> families();

/// The first family whose `name` (model_type or architecture) is `value`; null if there is none.
const Family* family_with(std::string_view Family::*name, std::string_view value);

/// The family that a GGUF file of `model` is read as, which is of family `family`.
const Family& family_in_gguf(const Family& family, const model::ModelConfig& model);

/// The family of `architecture` that is told by `how`; null if there is none.
const Family* family_told(std::string_view architecture, InGguf how);

/// The family that a config.json of `model` names, where GGUF has one architecture for several.
const Family& family_in_json(const Family& family, const model::ModelConfig& model);

/// Whether a family of that architecture may have a window.
bool may_have_window(std::string_view architecture);

/// The family of a model; null if there is none.
inline const Family* family_of(const model::ModelConfig& model) {
  return family_with(&Family::model_type, model.family);
}

/// Of both of its RoPEs.
inline void set_pairing(model::ModelConfig& model, model::RopePairing pairing) {
  model.rope.pairing = pairing;
  if (model.window_rope) model.window_rope->pairing = pairing;
}

/// What gpt-oss has, whose GGUF files have no keys for them.
inline void set_usual_swiglu(model::ModelConfig& model) {
  model.swiglu_alpha = 1.702F;
  model.swiglu_limit = 7;
}

/// The names that there are, each once, in quotes, for messages.
std::string known(std::string_view Family::*name, char quote);

}  // namespace forge::checkpoint::detail
