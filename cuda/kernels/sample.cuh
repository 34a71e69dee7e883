// sample: picks a token from each row of logits, the one that pick() (sampling/sampler.h) picks.
//
//   grid      x: rows of logits; a block of up to 1024 threads a row
//   memory    a thread takes 4 consecutive logits at a time, consecutive in a warp; two readings,
//             the second from the cache: first for the largest logit, then for the scores. If there
//             are candidates (candidates.h), both readings are of these: first for the largest of
//             all, then for which logits to look at. A candidate is as large as any logit it stands
//             for, so with its score out of reach theirs are, too
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

FORGE_DEVICE gptr<const float> logits_of(const gpu::SampleArgs& a, std::uint32_t row) {
  return global(a.logits) + std::int64_t{row} * a.vocabulary;
}

/// Requires: there are candidates.
FORGE_DEVICE gptr<const sampling::BestToken> candidates_of(const gpu::SampleArgs& a,
                                                           std::uint32_t row) {
  return global(a.candidates) + std::int64_t{row} * gpu::candidate_count(a.vocabulary);
}

/// The largest logit of a row that this thread comes across.
FORGE_DEVICE sampling::BestToken largest_logit(const gpu::SampleArgs& a, std::uint32_t row) {
  sampling::BestToken best = no_token();
  if (a.candidates != nullptr) {
    const auto candidates = candidates_of(a, row);
    for (int i = thread(); i < gpu::candidate_count(a.vocabulary); i += threads()) {
      const sampling::BestToken candidate = candidates[i];
      best.offer(candidate.score, candidate.token);
    }
    return best;
  }
  const auto logits = logits_of(a, row);
  float group[sampling::kNoiseGroup];
  for (int first = sampling::kNoiseGroup * thread(); first < a.vocabulary;
       first += sampling::kNoiseGroup * threads()) {
    load_group(logits, a.vocabulary, first, group);
    for (int n = 0; n < sampling::kNoiseGroup && first + n < a.vocabulary; ++n) {
      offer_logit(best, group[n], static_cast<std::uint32_t>(first + n));
    }
  }
  return best;
}

/// The best score of a row that this thread comes across, or `top`, that of the largest logit.
FORGE_DEVICE sampling::BestToken best_score(const gpu::SampleArgs& a, std::uint32_t row,
                                            const sampling::GumbelDraw& draw,
                                            const sampling::BestToken& top) {
  sampling::BestToken best = top;
  const auto logits = logits_of(a, row);
  float group[sampling::kNoiseGroup];
  for (int first = sampling::kNoiseGroup * thread(); first < a.vocabulary;
       first += sampling::kNoiseGroup * threads()) {
    const auto token = static_cast<std::uint32_t>(first);
    if (a.candidates != nullptr) {
      const sampling::BestToken candidate = candidates_of(a, row)[first / gpu::kCandidateLogits];
      if (!draw.could_reach(top.score, candidate.score, token)) continue;
    }
    load_group(logits, a.vocabulary, first, group);
    draw.offer(group, token, best);
  }
  return best;
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

  sampling::BestToken best = best_of_block(largest_logit(a, i), top_scores, top_tokens);
  if (input.temperature > 0.0f && best.token != kNoPick) {
    const sampling::GumbelDraw draw{input.seed, input.position, input.temperature, best.score};
    best.score = draw.top_score(best.token);
    best = best_of_block(best_score(a, i, draw, best), best_scores, best_tokens);
  }
  if (thread() != 0) return;
  global(a.picks)[input.pick] = best.token;
  if (input.draft != gpu::RowInput::kNoDraft) {
    global(a.drafts)[input.draft] = best.token == kNoPick ? 0 : best.token;
  }
}

}  // namespace FORGE_KERNELS
