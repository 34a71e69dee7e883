#include "json_rope.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>
#include <vector>

#include "gguf_description.h"

namespace forge::apps {
namespace {

using nlohmann::ordered_json;

/// Llama 3.1's and 3.2's parameters, with the factor that slows the slowest pairs down.
std::optional<model::Llama3Rope> llama3_of(const model::RopeConfig& rope,
                                           const model::TabledRope& tabled) {
  if (tabled.divisors.empty()) return std::nullopt;
  model::Llama3Rope guess;
  guess.factor = double{*std::max_element(tabled.divisors.begin(), tabled.divisors.end())};
  model::RopeConfig tried = rope;
  tried.scaling = guess;
  const std::vector<float> divisors = *rope_divisors(tried);
  constexpr double kRounding = 1e-5;  // of a few float operations in whoever made the table
  for (std::size_t i = 0; i < divisors.size(); ++i) {
    const double ratio = double{tabled.divisors[i]} / double{divisors[i]};
    if (!(std::abs(ratio - 1) < kRounding)) return std::nullopt;
  }
  return guess;
}

/// By what YaRN multiplies the scores of latent attention (hf_rope.cc).
float latent_attention_scale(const model::LatentConfig& latent, double factor,
                             double mscale_all_dim) {
  const double temperature = 0.1 * mscale_all_dim * std::log(factor) + 1;
  return static_cast<float>(std::pow(temperature, 2) /
                            std::sqrt(double{1} * latent.nope_size + latent.rope_size));
}

/// The number of fewest digits that gives the model's scale; 0 where YaRN leaves it alone.
double mscale_all_dim(const model::LatentConfig& latent, const model::YarnRope& yarn, float scale) {
  const double unscaled = std::sqrt(double{1} * latent.nope_size + latent.rope_size);
  const double exact = 10 * (std::sqrt(double{scale} * unscaled) - 1) / std::log(yarn.factor);
  if (latent_attention_scale(latent, yarn.factor, 0) == scale || !std::isfinite(exact)) return 0;
  for (int digits = 1; digits < 17; ++digits) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), exact,
                                   std::chars_format::general, digits)
                         .ptr;
    double rounded = 0;
    std::from_chars(text.data(), end, rounded);
    if (latent_attention_scale(latent, yarn.factor, rounded) == scale) return rounded;
  }
  return exact;
}

ordered_json json_of(const model::YarnRope& yarn) {
  ordered_json out = {{"rope_type", "yarn"},
                      {"factor", yarn.factor},
                      {"original_max_position_embeddings", yarn.original_positions},
                      {"beta_fast", yarn.beta_fast},
                      {"beta_slow", yarn.beta_slow},
                      {"attention_factor", yarn.attention_factor}};
  if (!yarn.truncate) out["truncate"] = false;
  return out;
}

}  // namespace

tl::expected<model::RopeScaling, std::string> json_scaling(const model::RopeConfig& rope) {
  const auto* const tabled = std::get_if<model::TabledRope>(&rope.scaling);
  if (tabled == nullptr) return rope.scaling;
  if (const auto llama3 = llama3_of(rope, *tabled)) return *llama3;
  return tl::unexpected(std::string(
      "config.json has no key for the divisors of rope_freqs.weight, which are not those of "
      "llama3 scaling with low_freq_factor 1, high_freq_factor 4 and "
      "original_max_position_embeddings 8192"));
}

ordered_json rope_scaling(const model::ModelConfig& config) {
  const model::RopeScaling& scaling = config.rope.scaling;
  if (const auto* linear = std::get_if<model::LinearRope>(&scaling)) {
    return {{"rope_type", "linear"}, {"factor", linear->factor}};
  }
  if (const auto* llama3 = std::get_if<model::Llama3Rope>(&scaling)) {
    return {{"rope_type", "llama3"},
            {"factor", llama3->factor},
            {"low_freq_factor", llama3->low_freq_factor},
            {"high_freq_factor", llama3->high_freq_factor},
            {"original_max_position_embeddings", llama3->original_positions}};
  }
  const auto* const yarn = std::get_if<model::YarnRope>(&scaling);
  if (yarn == nullptr) return {};
  ordered_json out = json_of(*yarn);
  const auto* const latent = std::get_if<model::LatentConfig>(&config.attention);
  if (latent == nullptr) return out;
  const double mscale = mscale_all_dim(*latent, *yarn, config.attention_scale);
  if (mscale == 0) return out;
  out["mscale"] = mscale;  // as of transformers, whose quotient scales cosines and sines
  out["mscale_all_dim"] = mscale;
  return out;
}

}  // namespace forge::apps
