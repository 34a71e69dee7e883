// The scale of latent attention's scores: temperature^2 / sqrt(nope_size + rope_size), where the
// temperature is YaRN's with the weight that DeepSeek gives the logarithm, otherwise 1.
#pragma once

#include <cmath>

#include "forge/model/model_config.h"

namespace forge::checkpoint::detail {

inline double unscaled(const model::LatentConfig& latent) {
  return std::sqrt(double{1} * latent.nope_size + latent.rope_size);
}

inline float latent_scale(const model::LatentConfig& latent, double temperature) {
  return static_cast<float>(std::pow(temperature, 2) / unscaled(latent));
}

/// The inverse of latent_scale().
inline double temperature_of(const model::LatentConfig& latent, float scale) {
  return std::sqrt(double{scale} * unscaled(latent));
}

}  // namespace forge::checkpoint::detail
