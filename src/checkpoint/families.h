// Families: what tells published models apart, a line each, for both formats, read and written.
//
// A dense family of the kind that ModelConfig computes is one entry of the table in families.cc.
// Defaults are those of the family's configuration class in transformers; architectures and the
// order of pairs in GGUF are those of llama.cpp's converter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "forge/model/model_config.h"
#include "key_names.h"

namespace forge::checkpoint::detail {

/// Which of the attention's projections have biases: as attention_bias says, or as in all models of
/// the family.
enum class Biases : std::uint8_t { all_if_said, none, query_key_value };

/// A window of sliding_window tokens: never, on all layers, or where use_sliding_window says.
enum class Window : std::uint8_t { never, always, if_used };

/// The keys that experts have, and what they mean where they are left out.
enum class Experts : std::uint8_t { none, qwen, deepseek_v2, deepseek_v3 };

/// What a family has. A member that is left out says what Llama has.
struct Family {
  std::string_view model_type;    ///< of config.json; ModelConfig::family
  std::string_view class_name;    ///< of transformers
  std::string_view architecture;  ///< of GGUF; several families may share one

  model::NormPlacement norm = model::NormPlacement::before;
  model::QueryKeyNorm query_key_norm = model::QueryKeyNorm::none;
  Biases biases = Biases::all_if_said;
  Window window = Window::never;
  bool latent = false;  ///< its attention is over latents
  bool multipliers = false;
  Experts experts = Experts::none;
  model::RopePairing gguf_pairing = model::RopePairing::halves;

  int positions = 2048;    ///< where config.json leaves max_position_embeddings out
  double norm_eps = 1e-6;  ///< where it leaves rms_norm_eps out
  int head_size = 0;       ///< where it leaves head_dim out; 0: hidden size / heads
};

/// A model that is being read.
struct Reading {
  const Family& family;
  model::ModelConfig model;
  std::vector<KeyName> names;  ///< the file's names for its fields; the first of a field counts
};

/// The first family whose `name` (model_type or architecture) is `value`; null if there is none.
const Family* family_with(std::string_view Family::*name, std::string_view value);

/// The first family of that architecture which may have a window; null if there is none.
const Family* with_window(std::string_view architecture);

/// The names that there are, each once, in quotes, for messages.
std::string known(std::string_view Family::*name, char quote);

}  // namespace forge::checkpoint::detail
