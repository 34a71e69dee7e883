// The step of the pipeline that rules out what the grammar of an output does not allow, for host
// and device. pipeline.h says where it stands among the others.
//
// A mask has a bit for each token of the vocabulary, the lowest bit of a word first
// (grammar/vocabulary.h). A logit that is NaN or +inf stays so: what a model gets wrong is not
// hidden.
//
// Pure, thread-safe.
#pragma once

#include <cstdint>

#include "forge/numerics/canonical.h"

namespace forge::sampling {

/// Words of a mask over `vocabulary` tokens.
FORGE_HOST_DEVICE constexpr std::uint32_t mask_words(std::uint32_t vocabulary) {
  return (vocabulary + 31) / 32;
}

/// The logit of `token`, whose bit is in `word`.
FORGE_HOST_DEVICE inline float masked(float logit, std::uint32_t token, std::uint32_t word) {
  const float infinity = numerics::float_of(0x7f800000u);
  const bool is_allowed = (word >> (token % 32) & 1u) != 0;
  return is_allowed || !(logit < infinity) ? logit : -infinity;
}

}  // namespace forge::sampling
