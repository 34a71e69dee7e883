// A ModelConfig as the metadata of GGUF: the inverse of gguf_config.h, in the keys and types that
// llama.cpp's converter writes.
//
// GGUF has no keys for everything: what it cannot say is refused by name, never left out.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/model/model_config.h"
#include "gguf_keys.h"

namespace forge::apps {

/// Sets general.architecture and the architecture's keys. Errors: the family, or the part of its
/// configuration, that GGUF files do not have.
tl::expected<void, std::string> describe_in_gguf(const model::ModelConfig& config, GgufKeys& keys);

/// Whether describe_in_gguf would have an error.
tl::expected<void, std::string> check_for_gguf(const model::ModelConfig& config);

/// The tensor rope_freqs.weight, in which GGUF has llama3's scaling: a divisor for each pair; none
/// for other scalings.
std::optional<std::vector<float>> rope_divisors(const model::RopeConfig& rope);

}  // namespace forge::apps
