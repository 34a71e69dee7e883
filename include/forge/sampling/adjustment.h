// The steps of the pipeline that change the logits of single tokens: logit bias and penalties, for
// host and device. pipeline.h says where they stand among the others.
//
//   logit bias   l = l + bias
//   repetition   l = l > 0 ? l / repetition : l * repetition    in the prompt or the output
//   frequency    l = l - frequency * (times in the output)
//   presence     l = l - presence                               in the output
//
// Each operation is rounded to float, in this order; a step whose parameter does nothing is not
// done. A logit that is NaN or infinite stays so: what a model gets wrong is not hidden.
//
// Sources: Keskar et al., "CTRL", 2019, section 4.1 (repetition); OpenAI API reference (logit bias,
// frequency, presence).
//
// Pure, thread-safe. Numerics are canonical.
#pragma once

#include <cstdint>

#include "forge/numerics/canonical.h"

namespace forge::sampling {

/// One token whose logit may change. The prompt and the output are those of its sequence.
struct alignas(16) Adjustment {
  std::uint32_t token = 0;
  float bias = 0.0F;
  std::uint32_t in_output = 0;  ///< how often the output has the token
  std::uint32_t in_prompt = 0;  ///< 1 if the prompt has it

  friend bool operator==(const Adjustment&, const Adjustment&) = default;
};

struct Penalties {
  float repetition = 1.0F;
  float presence = 0.0F;
  float frequency = 0.0F;

  FORGE_HOST_DEVICE bool any() const {
    return repetition != 1.0F || presence != 0.0F || frequency != 0.0F;
  }
};

/// The logit of a token after its bias and the penalties.
FORGE_HOST_DEVICE inline float adjusted(float logit, const Adjustment& by, Penalties penalties) {
  if (by.bias != 0.0F) logit = logit + by.bias;
  if (penalties.repetition != 1.0F && (by.in_output > 0 || by.in_prompt > 0)) {
    logit =
        logit > 0.0F ? numerics::divide(logit, penalties.repetition) : logit * penalties.repetition;
  }
  if (penalties.frequency != 0.0F && by.in_output > 0) {
    const float cost = penalties.frequency * static_cast<float>(by.in_output);
    logit = logit - cost;
  }
  if (penalties.presence != 0.0F && by.in_output > 0) logit = logit - penalties.presence;
  return logit;
}

}  // namespace forge::sampling
