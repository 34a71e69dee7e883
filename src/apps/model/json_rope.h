// The scaling of RoPE as config.json says it: the inverse of what hf_config.h reads.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tl/expected.hpp>

#include "forge/model/model_config.h"

namespace forge::apps {

/// The scaling in the words that config.json has: a table of divisors becomes llama3's parameters.
/// Errors: the table is not one of those that Llama 3.x has.
tl::expected<model::RopeScaling, std::string> json_scaling(const model::RopeConfig& rope);

/// The value of rope_scaling, null where there is none. Of latent attention with YaRN it says by
/// mscale_all_dim what multiplies the scores. Requires: the scaling is one of json_scaling().
nlohmann::ordered_json rope_scaling(const model::ModelConfig& config);

}  // namespace forge::apps
