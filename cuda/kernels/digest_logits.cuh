// digest_logits: 64 bits that stand for a row of logits, so that a trace can be compared.
//
//   grid      x: rows of logits; a block is one warp
//   memory    a warp reads 64 consecutive floats, two a lane
//   bits      the digest has 8 lanes, each a chain over every 8th word (executor/logits_digest.h).
//             The warp loads 32 words at once; then 8 of its lanes take their four words from
//             those that loaded them. The other lanes follow and do the same once more
#pragma once

#include "forge/executor/logits_digest.h"
#include "forge/gpu/kernels/digest_logits.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

FORGE_KERNEL(gpu::DigestLogitsArgs::kThreads) digest_logits(gpu::DigestLogitsArgs a) {
  const auto i = static_cast<std::uint32_t>(block().x);
  const gpu::PassCounts counts = global(a.counts)[0];
  if (i >= counts.logit_rows) return;
  const gptr<const float> x = global(a.logits) + std::int64_t{i} * a.vocabulary;
  const int words = gpu::ceil_div(a.vocabulary, 2);
  const int own = lane() % executor::kDigestLanes;

  std::uint64_t hash = executor::digest_lane_start(own);
  for (int first = 0; first < words; first += kWarpSize) {
    const int at = 2 * (first + lane());
    const float low = at < a.vocabulary ? x[at] : 0.0f;
    const float high = at + 1 < a.vocabulary ? x[at + 1] : 0.0f;
    const std::uint64_t loaded = executor::digest_word(low, high);
    for (int step = 0; step < kWarpSize; step += executor::kDigestLanes) {
      const std::uint64_t word = shuffle(loaded, step + own);
      if (first + step + own < words) hash = executor::digest_step(hash, word);
    }
  }

  auto digest = static_cast<std::uint64_t>(a.vocabulary);
  for (int j = 0; j < executor::kDigestLanes; ++j)
    digest = executor::digest_step(digest, shuffle(hash, j));
  if (lane() == 0) {
    const gpu::LogitInput logit = global(a.inputs)[i];
    if (logit.pick != gpu::LogitInput::kPicksNothing) global(a.digests)[logit.pick] = digest;
  }
}

}  // namespace FORGE_KERNELS
