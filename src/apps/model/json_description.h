// config.json of a model: that of a checkpoint with what has changed, or one made from a
// ModelConfig, as for a file of GGUF that has none.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "forge/model/model_config.h"
#include "forge/quant/weight_type.h"

namespace forge::apps {

/// `text` with the type of its tensors replaced, and without quantization_config. Requires: it is a
/// JSON object.
std::string config_with_type(const std::string& text, quant::WeightType type);

/// Of the families that GGUF has; read again, it is the same model. Errors: what config.json has no
/// words for, as divisors in rope_freqs.weight that are not those of Llama 3.x.
tl::expected<std::string, std::string> config_text(const model::ModelConfig& config,
                                                   quant::WeightType type);

}  // namespace forge::apps
