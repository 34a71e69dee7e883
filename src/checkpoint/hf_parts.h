// The parts of a config.json, each read and written by functions of one file.
//
// Writers say all that they know; what config.json has no key for is found when the text is read
// again (config_text in hf_config.h). `model` is valid, and as as_in_json() makes it.
#pragma once

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "families.h"
#include "forge/checkpoint/hf_config.h"
#include "forge/json/fields.h"

namespace forge::checkpoint::detail::hf {

/// The decimal of fewest digits, nearest to `value`, that is as wanted; `value` if none is.
template <class Wanted>
double with_fewest_digits(double value, const Wanted& wanted) {
  for (int digits = 1; digits < 17; ++digits) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                   std::chars_format::general, digits)
                         .ptr;
    double rounded = 0;
    std::from_chars(text.data(), end, rounded);
    if (wanted(rounded)) return rounded;
  }
  return value;
}

/// The shortest decimal whose nearest float is `value`.
inline double decimal_of(float value) {
  return with_fewest_digits(double{value},
                            [&](double rounded) { return static_cast<float>(rounded) == value; });
}

/// The members of an object that is about to be written (fields.h).
struct Sink {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();

  template <class T>
  void set(const char* key, T value) {
    object[key] = std::move(value);
  }
  void set(const char* key, float value) { object[key] = decimal_of(value); }
  void none(const char* key) { object[key] = nullptr; }
};

/// What RoPE's keys say beyond RopeConfig.
struct RopeReading {
  /// Of latent attention's scores: 0.1 mscale_all_dim ln factor + 1, where YaRN has mscale_all_dim.
  double temperature = 1;
  double rotary_factor = 1;  ///< how much of a head turns
};

/// rope_parameters, or rope_theta and rope_scaling: but for the sizes.
RopeReading read_rope(const json::Fields& fields, Reading& reading);
void write_rope(const model::ModelConfig& model, const Family& family, Sink& out);

/// Llama 3.1's and 3.2's parameters, with the factor that slows the slowest pairs down; none if the
/// table is not theirs. The inverse of rope_divisors (gguf_config.h).
std::optional<model::Llama3Rope> llama3_of(const model::RopeConfig& rope,
                                           const model::TabledRope& tabled);

/// Heads or latents, their window, their scale, and RoPE.
void read_attention(const json::Fields& fields, Reading& reading);
void write_attention(const model::ModelConfig& model, const Family& family, Sink& out);

/// The layers that have a window, and those that have no RoPE; `model` has heads and RoPE.
void read_layers(const json::Fields& fields, Reading& reading);
void write_layers(const model::ModelConfig& model, const Family& family, Sink& out);

/// A soft cap, of families that may have one: null for none, `usual` where the key is left out.
float read_cap(const json::Fields& fields, const char* key, const Family& family, double usual);
void write_cap(float cap, const char* key, const Family& family, Sink& out);

/// Mixture of experts, for families that have one.
void read_experts(const json::Fields& fields, Reading& reading);
void write_experts(const model::ExpertsConfig& experts, const Family& family, Sink& out);

/// quantization_config, where there is one. It is not written: weights are widened when they are
/// written.
HfQuantization read_quantization(const json::Fields& fields);

}  // namespace forge::checkpoint::detail::hf
