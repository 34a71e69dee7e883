// The candidates of rows of logits by their definition (gpu/kernels/candidates.h), on the host.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "forge/gpu/kernels.h"

namespace forge::gpu {

/// The candidate of the logits of tokens first, first + 1, ...
inline sampling::BestToken candidate_of(std::span<const float> logits, std::size_t first) {
  sampling::BestToken best{-INFINITY, SampleArgs::kNoPick};
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float logit = logits[i];
    if (std::isnan(logit) || logit == INFINITY) return {INFINITY, SampleArgs::kNoPick};
    if (logit > best.score) best = {logit, static_cast<std::uint32_t>(first + i)};
  }
  return best;
}

/// Appends those of a row.
inline void append_candidates(std::span<const float> row, std::vector<sampling::BestToken>& out) {
  constexpr std::size_t kLogits = kCandidateLogits;
  for (std::size_t first = 0; first < row.size(); first += kLogits) {
    out.push_back(candidate_of(row.subspan(first, std::min(kLogits, row.size() - first)), first));
  }
}

}  // namespace forge::gpu
