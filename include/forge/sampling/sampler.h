// Sampling: logits and a position become a token, by a pure function.
//
// At temperature 0 it is greedy. Above, it is the Gumbel-max trick: the following, with u uniform
// in (0, 1) and g = -log(-log(u)) independent for each token,
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
// picked again after a preemption, or by a draft model, meets the same noise. A draft model whose
// logits resemble the model's therefore mostly picks the same token, on which
// AcceptanceRule::shared_noise relies.
//
// Numerics are canonical (numerics/canonical.h): the same token on every machine.
// Ties go to the lower token id. Thread contract: stateless, allocates nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forge/core/acceptance.h"
#include "forge/core/ids.h"
#include "forge/core/sampling_params.h"
#include "forge/core/step_plan.h"
#include "forge/sampling/log_softmax.h"

namespace forge::sampling {

/// Whether a token can be chosen by the logits [V]: no NaN, no +inf, at least one finite; -inf
/// rules a token out. The logits of a model whose arithmetic overflows fail this.
bool can_pick(std::span<const float> logits);

/// The token at `position`, its index in prompt and output together. logits: [V], V >= 1.
/// Requires: can_pick(logits), otherwise it is any token; params.temperature >= 0.
TokenId pick(std::span<const float> logits, const SamplingParams& params, std::uint64_t position);

/// By how much logits would have to change, one against another, for another token than `picked` to
/// be picked: the distance of the two best scores, times the temperature if it is above 0; the
/// largest float where no other token can be picked. Requires: picked = pick(logits, params,
/// position).
float margin(std::span<const float> logits, const SamplingParams& params, std::uint64_t position,
             TokenId picked);

/// The logarithms of softmax(logits). logits: [V]. Requires: can_pick(logits).
LogSoftmax log_softmax(std::span<const float> logits);

/// Appends the `count` most likely tokens, fewer only if there are no more that can be picked: the
/// largest logit first, and of equal ones the lower token id; each with its logarithm of `softmax`.
/// Requires: can_pick(logits).
void append_likely(std::span<const float> logits, std::uint32_t count, const LogSoftmax& softmax,
                   std::vector<TokenLogprob>& out);

/// softmax(logits / temperature), the distribution of pick(). At temperature 0: one-hot at
/// the argmax. Weights are canonical fp32 exponentials, sum and quotients double.
/// logits, out: [V]. Requires: can_pick(logits), temperature >= 0.
void probabilities(std::span<const float> logits, float temperature, std::span<double> out);

/// The uniform number in (0, 1) of (seed, position, stream): (w + 1/2) / 2^32, exactly, where w is
/// word 0 of random_words(seed, position, 0, stream) (gumbel.h). The noise of tokens is stream 0
/// there, and no DrawStream.
double uniform(std::uint64_t seed, std::uint64_t position, DrawStream stream);

}  // namespace forge::sampling
