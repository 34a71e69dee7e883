// Mixture of experts: each token goes through a few of many MLPs.
//
//   products   z = router x, in float; + bias, where the router has one           [E]
//   scores     s = softmax(z), or 1 / (1 + exp(-z))
//   ranks      r = s + correction bias, where there is one; what is no number is the lowest
//   groups     a group's score is the sum of its group_best best ranks; experts outside the
//              groups_per_token best groups are left out
//   chosen     the experts_per_token best ranks
//   weights    w = s; normalized: w / (sum of the chosen s + 1e-20); times routed_scale
//   out        ((0 + w_a y_a) + w_b y_b) + ... + g shared(x), a < b < ... the chosen experts;
//              g = 1 / (1 + exp(-w x)) with a shared gate, otherwise 1
//
// Among equal ranks or group scores the lower index wins; the lowest one, of a group as well, is
// -FLT_MAX. So the chosen experts are different ones even where the products have overflowed. Sums
// of ranks, scores and contributions run in ascending order of experts; only the sums of a softmax
// are the fixed tree of canonical.h.
//
// Rows are gathered by expert, so that an expert's weights are read once for all of them. A row's
// contributions are added one expert after the other, whatever rows are gathered with it: its bits
// depend on itself alone.
// Sources: Shazeer et al., arXiv:1701.06538; DeepSeek-AI, arXiv:2405.04434 (groups, shared experts)
// and arXiv:2412.19437 (sigmoid, correction bias).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forge/model/mlp.h"
#include "forge/model/packed_model.h"
#include "forge/model/workers.h"
#include "forge/numerics/aligned.h"

namespace forge::model {

struct ExpertChoice {
  int expert = 0;
  float weight = 0;
};

/// The number of floats that choose_experts needs beside the products.
int router_scratch_size(const ExpertsConfig& config);

/// chosen [experts_per_token], different ones in ascending order. products [E] are overwritten by
/// the scores; bias [E], or empty; scratch [router_scratch_size()].
/// O(E (experts_per_token + groups_per_token)).
void choose_experts(const ExpertsConfig& config, std::span<float> products,
                    std::span<const float> bias, std::span<float> scratch,
                    std::span<ExpertChoice> chosen);

struct ExpertsScratch {
  numerics::AlignedFloats scores;    // [T][E]
  numerics::AlignedFloats router;    // [T][router_scratch_size]
  std::vector<ExpertChoice> chosen;  // [T][experts_per_token]
  std::vector<int> first;            // [E + 1] start of each expert in `rows`
  std::vector<int> rows;             // [T experts_per_token] rows, by expert
  numerics::AlignedFloats weights;   // one for each of `rows`
  numerics::AlignedFloats gathered;  // [rows of an expert][d]
  numerics::AlignedFloats produced;  // [rows of an expert][d]
  numerics::AlignedFloats gates;     // [T] of the shared experts
  MlpScratch mlp;
};

/// out [T][d] = the weighted sum of the experts' outputs for x [T][d].
void run_experts(const PackedExperts& experts, Rows x, float* out, ExpertsScratch& scratch,
                 Workers& workers);

}  // namespace forge::model
