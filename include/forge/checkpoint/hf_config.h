// config.json: how checkpoints of Hugging Face describe themselves.
//
// model_type is one of llama, mistral, mixtral, qwen2, qwen2_moe, qwen3, qwen3_moe, deepseek_v2,
// deepseek_v3, olmo2, olmo3, granite, smollm3, phi3 (Phi-4 too), glm4, gpt_oss, gemma2 and
// gemma3_text (not the models with images, gemma3); a family is one entry of a table (families.cc)
// that says how it differs from Llama. Both spellings are read: that of the hub's
// checkpoints (rope_theta, rope_scaling, num_experts) and that of transformers 5 (rope_parameters,
// num_local_experts). Keys have the meanings and defaults of transformers; but the sizes of the
// model must be there, and a value that asks for a computation that Forge does not have is an
// error, never ignored. Keys that do not concern inference are ignored. A key that is there twice
// is an error: Python would take the last.
//
// RoPE's scalings `dynamic` and `longrope` depend on the length of a sequence in transformers. Here
// they depend on max_position_embeddings, the context that the model is configured for: `dynamic`
// changes nothing within it, and `longrope` has its long factors for every sequence where the
// context is longer than original_max_position_embeddings. Whoever wants the short ones sets
// max_position_embeddings to that.
//
// The same tables of keys are walked to write a model, in the spelling of the hub. What was written
// is read again and compared, so that no property of a model can be lost silently.
//
// Pure, thread-safe, but for read_hf_config, which reads files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "forge/formats/file_error.h"
#include "forge/model/model_config.h"
#include "forge/quant/weight_type.h"

namespace forge::checkpoint {

/// The way in which linear layers are stored, by quantization_config. The tensors say which layers
/// are quantized. Forms: linear/stored_linear.h.
struct HfQuantization {
  /// packed: compressed-tensors' pack-quantized. float8: E4M3 with scales. mxfp4: gpt-oss' experts,
  /// or, where tensors have no _blocks, none.
  enum class Method : std::uint8_t { none, gptq, awq, int8, packed, float8, mxfp4 };
  Method method = Method::none;
  int group_size = 0;            ///< inputs that share a scale, of gptq, awq, packed; 0: all
  int bits = 4;                  ///< of a code of gptq or packed: 4 or 8
  bool zeros_as_stored = false;  ///< gptq_v2, whose zero points are not stored less one
  bool symmetric = true;         ///< packed: without zero points
  int block_rows = 0;            ///< float8: sides of the blocks that share a scale; 0: rows do, or
  int block_columns = 0;         ///< a whole layer
  friend bool operator==(const HfQuantization&, const HfQuantization&) = default;
};

struct HfConfig {
  model::ModelConfig model;  ///< validate() accepts it
  HfQuantization quantization;
  std::vector<std::string> notes = {};  ///< what was assumed, for Checkpoint::notes()
  friend bool operator==(const HfConfig&, const HfConfig&) = default;
};

/// Reads the text of a config.json; `path` is for errors. Errors: those of formats/json_tree.h; a
/// value is missing, of another kind, out of its range or not supported, named by its key with what
/// is accepted.
tl::expected<HfConfig, formats::FileError> parse_hf_config(std::string_view json,
                                                           const std::string& path);

/// The tokens that end a text by a generation_config.json's eos_token_id: none, one or several.
tl::expected<std::vector<std::uint32_t>, formats::FileError> parse_generation_eos(
    std::string_view json, const std::string& path);

/// Reads `directory`/config.json and, if it exists, generation_config.json, in whose eos_token_id
/// chat models keep the end of a turn: those tokens come after the others. Errors: as above, or a
/// file cannot be read.
tl::expected<HfConfig, formats::FileError> read_hf_config(const std::string& directory);

/// A config.json of the model for weights of `type`. When it is read, it gives the same model, but
/// for what GGUF expresses otherwise: pairs that turn together become halves, a table of divisors
/// llama3's parameters, a llama with a window a mistral. Requires: validate() accepts `model`.
/// Errors: the field that config.json cannot say, with its value, such as divisors that are not
/// those of Llama 3.x; an unknown family.
tl::expected<std::string, std::string> config_text(const model::ModelConfig& model,
                                                   quant::WeightType type);

/// `text` with the type of its tensors replaced, and without quantization_config. Requires: it is a
/// JSON object.
std::string config_with_type(const std::string& text, quant::WeightType type);

}  // namespace forge::checkpoint
