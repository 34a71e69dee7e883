// Sampling: logits and a position become a token, by a pure function.
//
// Greedy at temperature 0. Above it, the Gumbel-max trick: with u uniform in (0, 1) and
// g = -log(-log(u)) independent for each token,
//
//   argmax over tokens t of  (logit[t] - max) / temperature + g[t]
//
// is distributed as softmax(logits / temperature) (Gumbel, "Statistical Theory of Extreme
// Values", 1954; Maddison, Tarlow, Minka, "A* Sampling", 2014). The noise is not drawn
// from a stream but looked up, by Philox, under (seed; position, token, stream):
//
//   key      seed of the request
//   counter  { position low, position high, token / 4, stream }  -> noise of four tokens
//
// so it does not matter what else was sampled, in what order, or how often: a token
// picked again after a preemption, or by a draft model, meets the same noise. A draft
// whose logits resemble the target's therefore picks the same token as a rule, which is
// what AcceptanceRule::shared_noise lives on.
//
// Numerics are canonical (numerics/canonical.h): the same token on every machine.
// Ties go to the lower token id. Thread contract: stateless, allocates nothing.
#pragma once

#include <cstdint>
#include <span>

#include "forge/core/acceptance.h"
#include "forge/core/ids.h"
#include "forge/core/request.h"

namespace forge::sampling {

/// Whether the logits [V] are some to choose a token by: no NaN, no +inf, at least one finite; -inf
/// rules a token out. Of a model whose arithmetic overflows they are not.
bool can_pick(std::span<const float> logits);

/// The token at `position`, its index in prompt and output together. logits: [V], V >= 1.
/// Requires: can_pick(logits), otherwise it is any token; params.temperature >= 0.
TokenId pick(std::span<const float> logits, const SamplingParams& params, std::uint64_t position);

/// softmax(logits / temperature), the distribution of pick(). At temperature 0: one-hot at
/// the argmax. Weights are canonical fp32 exponentials, sum and quotients double.
/// logits, out: [V]. Requires: can_pick(logits), temperature >= 0.
void probabilities(std::span<const float> logits, float temperature, std::span<double> out);

/// The uniform number in (0, 1) of (seed, position, stream): a multiple of 2^-33.
double uniform(std::uint64_t seed, std::uint64_t position, DrawStream stream);

}  // namespace forge::sampling
