// Candidates: of each 8 neighbouring logits of a row the largest, and its token. The product that
// makes the logits (tensor_product.h) has them in its registers and leaves the candidates in
// passing; then whoever picks (sample.h) need not read the row. A candidate takes 8 bytes, a
// quarter of its logits.
//
//   tokens       0   1   2   3   4   5   6   7 |  8   9  10  11    (N = 12)
//   logits       3   1   4   1   5   9   2   6 |  5   3   5 NaN
//   candidates   {9, token 5}                  |  {+inf, kNoPick}
//
// Of equal logits the lower token is the candidate. A logit that is NaN or +inf stands for a score
// above all others, of no token: kNoPick (sample.h). If all are -inf, which rules a token out, the
// candidate is {-inf, kNoPick}.
#pragma once

#include "forge/gpu/kernels/kernel_launch.h"
#include "forge/sampling/gumbel.h"

namespace forge::gpu {

/// Neighbouring logits that have a candidate together.
inline constexpr int kCandidateLogits = 8;

/// Candidates of a row of logits.
FORGE_HOST_DEVICE constexpr int candidate_count(int logits) {
  return ceil_div(logits, kCandidateLogits);
}

}  // namespace forge::gpu
