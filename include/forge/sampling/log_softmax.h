// The natural logarithms of a row's probabilities, for host and device: what logprobs are.
//
//   logprob of token t = (logit[t] - max) - log(sum of exp(logit - max))
//
// The logits are those that the model gave, before any step of the pipeline and at temperature 1,
// as vLLM's are by default. The sum is the mass of filter.h, which has no order of tokens, so every
// target has the same bits. Its error is below V 2^-40 of the sum beside that of the exponentials.
//
// Pure, thread-safe. Numerics are canonical.
#pragma once

#include <cstdint>

#include "forge/numerics/canonical.h"
#include "forge/sampling/filter.h"

namespace forge::sampling {

struct LogSoftmax {
  float max;       ///< the largest logit
  float log_mass;  ///< the logarithm of the mass

  FORGE_HOST_DEVICE static LogSoftmax of_mass(float max, std::uint64_t mass) {
    return {max, numerics::log(static_cast<float>(mass) * 0x1p-40F)};
  }

  /// At least the lowest float, which also stands for what is no number.
  FORGE_HOST_DEVICE float operator()(float logit) const {
    const float lowest = numerics::float_of(0xff7fffffu);
    const float logprob = (logit - max) - log_mass;
    return logprob > lowest ? logprob : lowest;
  }
};

}  // namespace forge::sampling
