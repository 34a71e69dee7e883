// The best token of some logits: of a row, by all threads of a block, which is what sample and
// process_logits begin with; of a few, by the lanes that have them.
#pragma once

#include "forge/gpu/kernels/sample.h"
#include "forge/sampling/gumbel.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

inline constexpr std::uint32_t kNoPick = gpu::SampleArgs::kNoPick;

/// What has not been offered anything.
FORGE_DEVICE sampling::BestToken no_token() { return {numerics::float_of(0xff800000u), kNoPick}; }

/// The best of kLanes neighbouring lanes, a power of 2, in each of them. All lanes take part.
template <int kLanes>
FORGE_DEVICE sampling::BestToken best_of_lanes(sampling::BestToken best) {
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    const float score = shuffle_xor(best.score, distance);
    const std::uint32_t token = shuffle_xor(best.token, distance);
    best.offer(score, token);
  }
  return best;
}

/// The best of all threads of the block, in every thread. scores, tokens: [warps of the block],
/// shared and not yet used.
FORGE_DEVICE sampling::BestToken best_of_block(sampling::BestToken best, sptr<float> scores,
                                               sptr<std::uint32_t> tokens) {
  best = best_of_lanes<kWarpSize>(best);
  if (lane() == 0) {
    scores[warp()] = best.score;
    tokens[warp()] = best.token;
  }
  sync_block();
  for (int w = 0; w < threads() / kWarpSize; ++w) best.offer(scores[w], tokens[w]);
  return best;
}

/// Offers a logit, by the rule of can_pick() (sampling/sampler.h): one that is NaN or +inf stands
/// for a score above all others, of no token, so that who looks for the largest finds it.
FORGE_DEVICE void offer_logit(sampling::BestToken& best, float logit, std::uint32_t token) {
  const float infinity = numerics::float_of(0x7f800000u);
  if (!(logit < infinity)) {
    best.offer(infinity, kNoPick);
  } else if (logit > -infinity) {
    best.offer(logit, token);
  }
}

}  // namespace FORGE_KERNELS
