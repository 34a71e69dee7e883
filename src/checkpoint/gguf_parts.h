// The parts of GGUF's metadata, each read and written by functions of one file.
//
// Writers say all that they know; what GGUF has no key for is found when the metadata is read again
// (describe_in_gguf in gguf_config.h). `model` is valid, and as as_in_gguf() makes it.
#pragma once

#include <string>

#include "families.h"
#include "forge/checkpoint/gguf_config.h"
#include "gguf_fields.h"

namespace forge::checkpoint::detail::gguf {

/// The keys of an architecture that are about to be written (fields.h), in the types that
/// llama.cpp's converter gives them.
struct Sink {
  formats::GgufKeys& keys;
  std::string prefix;  ///< "llama."

  void set(const char* key, int value) {
    keys.set_u32(prefix + key, static_cast<std::uint64_t>(value));
  }
  void set(const char* key, double value) { keys.set_f32(prefix + key, value); }
  void set(const char* key, float value) { keys.set(prefix + key, value); }
  void set(const char* key, bool value) { keys.set(prefix + key, value); }
  void set(const char* key, const char* text) { keys.set_text(prefix + key, text); }
  void none(const char*) {}
};

/// RoPE of whole heads. `model` has its positions and pairing, and as rope.size that of a head, for
/// files without rope.dimension_count.
void read_rope(GgufFields& fields, Reading& reading);
/// RoPE of the part of a latent head that turns. Returns: the temperature of the scores,
/// 0.1 mscale_all_dim ln factor + 1 where YaRN is on, otherwise 1.
double read_latent_rope(GgufFields& fields, Reading& reading);
void write_rope(const model::ModelConfig& model, const Family& family, Sink& out);

/// Heads or latents, their scale, and RoPE. `model` has its sizes.
void read_attention(GgufFields& fields, Reading& reading);
void write_attention(const model::ModelConfig& model, const Family& family, Sink& out);

/// The layers that have a window, and those that have no RoPE. `model` has its heads.
void read_layers(GgufFields& fields, Reading& reading);
void write_layers(const model::ModelConfig& model, const Family& family, Sink& out);

/// A soft cap, of families that may have one: 0 for none, `usual` where the key is left out.
float read_cap(GgufFields& fields, const char* key, const Family& family, double usual);
void write_cap(float cap, const char* key, const Family& family, Sink& out);

/// Mixture of experts, for families that have one.
void read_experts(GgufFields& fields, Reading& reading);
void write_experts(const model::ExpertsConfig& experts, const Family& family, Sink& out);

}  // namespace forge::checkpoint::detail::gguf
