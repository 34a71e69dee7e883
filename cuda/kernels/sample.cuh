// sample: picks a token from each row of logits, the one that pick() (sampling/sampler.h) picks.
//
//   grid      x: rows of logits; a block of up to 1024 threads a row
//   memory    a thread takes 4 consecutive logits at a time, consecutive in a warp; two readings,
//             the second from the cache: first for the largest logit, then for the scores
//   bits      a score is what sampling/gumbel.h says. "Higher, or equal and lower token" orders
//             tokens fully, so threads may compare them in any order
//
// At temperature 0 the largest logit is the answer.
#pragma once

#include "best_token.cuh"
#include "forge/gpu/kernels/sample.h"
#include "forge/sampling/gumbel.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

inline constexpr int kWarpsMax = gpu::SampleArgs::kThreads / kWarpSize;

/// Logits `first` .. `first` + 3 of a row; places beyond the vocabulary are -inf.
FORGE_DEVICE void load_group(gptr<const float> row, int vocabulary, int first,
                             float (&group)[sampling::kNoiseGroup]) {
  if (vocabulary % 4 == 0) {
    const Float4 four = load4(row + first);
    group[0] = four.x;
    group[1] = four.y;
    group[2] = four.z;
    group[3] = four.w;
    return;
  }
  for (int i = 0; i < sampling::kNoiseGroup; ++i) {
    group[i] = first + i < vocabulary ? row[first + i] : numerics::float_of(0xff800000u);
  }
}

FORGE_KERNEL(gpu::SampleArgs::kThreads) sample(gpu::SampleArgs a) {
  SIMT_SHARED(float, top_scores, kWarpsMax);
  SIMT_SHARED(std::uint32_t, top_tokens, kWarpsMax);
  SIMT_SHARED(float, best_scores, kWarpsMax);
  SIMT_SHARED(std::uint32_t, best_tokens, kWarpsMax);
  const auto i = static_cast<std::uint32_t>(block().x);
  const gpu::PassCounts counts = global(a.counts)[0];
  if (i >= counts.logit_rows) return;
  const gpu::LogitInput input = global(a.inputs)[i];
  if (input.pick == gpu::LogitInput::kPicksNothing) return;
  const gptr<const float> row = global(a.logits) + std::int64_t{i} * a.vocabulary;
  const int begin = sampling::kNoiseGroup * thread();
  const int stride = sampling::kNoiseGroup * threads();
  float group[sampling::kNoiseGroup];

  sampling::BestToken best{numerics::float_of(0xff800000u), kNoPick};
  for (int first = begin; first < a.vocabulary; first += stride) {
    load_group(row, a.vocabulary, first, group);
    for (int n = 0; n < sampling::kNoiseGroup && first + n < a.vocabulary; ++n) {
      offer_logit(best, group[n], static_cast<std::uint32_t>(first + n));
    }
  }
  best = best_of_block(best, top_scores, top_tokens);

  if (input.temperature > 0.0f && best.token != kNoPick) {
    const sampling::GumbelDraw draw{input.seed, input.position, input.temperature, best.score};
    best.score = draw.top_score(best.token);
    for (int first = begin; first < a.vocabulary; first += stride) {
      load_group(row, a.vocabulary, first, group);
      draw.offer(group, static_cast<std::uint32_t>(first), best);
    }
    best = best_of_block(best, best_scores, best_tokens);
  }
  if (thread() != 0) return;
  global(a.picks)[input.pick] = best.token;
  if (input.draft != gpu::RowInput::kNoDraft) {
    global(a.drafts)[input.draft] = best.token == kNoPick ? 0 : best.token;
  }
}

}  // namespace FORGE_KERNELS
