// The fields of a request that become SamplingParams (core/sampling_params.h), the same for all
// routes that generate.
#pragma once

#include "forge/core/sampling_params.h"
#include "forge/json/fields.h"

namespace forge::serve {

/// Reads temperature, seed, top_p, top_k (0 and -1 keep all tokens), min_p, repetition_penalty,
/// presence_penalty, frequency_penalty and logit_bias, {"50": -100, ...}: token ids below
/// `vocabulary_size` as texts. Each may be left out; the temperature then is `temperature`.
SamplingParams read_sampling(const json::Fields& fields, std::uint32_t vocabulary_size,
                             double temperature);

}  // namespace forge::serve
