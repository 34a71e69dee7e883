// choose_experts: scores of a row's experts, the best of them, and their weights.
//
//   grid      x: rows; a block is one warp
//   memory    the row is read once; scores and ranks stay in shared memory, where entry e is lane
//             e % 32's: a barrier is due only where a lane looks at what is another's
//   bits      model/experts.h. The softmax sums in 32 lanes, which are this warp; ties go to the
//             lower index, which orders experts fully, so lanes may compare them in any order; sums
//             of ranks and weights are the definition's loops, by one lane or by each for itself
//
//   scores s [E] --copy, + bias--> ranks r [E] --best groups only--> A times the best rank
#pragma once

#include "forge/gpu/kernels/choose_experts.h"
#include "forge/numerics/canonical.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

inline constexpr int kExpertsMax = gpu::ChooseExpertsArgs::kExpertsMax;

/// A rank or a group score that is out of the question.
FORGE_DEVICE float left_out() { return numerics::float_of(0xff800000u); }  // -inf

/// A rank, or a group's score, that has its place among others, NaN included: above left_out().
FORGE_DEVICE float comparable(float rank) {
  const float lowest = numerics::float_of(0xff7fffffu);
  return rank > lowest ? rank : lowest;
}

/// Entry `index` of an array that the lanes share out is this lane's: no other one touches it.
FORGE_DEVICE bool is_own(int index) { return index % kWarpSize == lane(); }

/// Index of the largest of x [n], of equal ones the lowest, in every lane.
FORGE_DEVICE int warp_argmax(sptr<const float> x, int n) {
  float best = left_out();
  int index = lane();
  for (int i = lane(); i < n; i += kWarpSize) {
    const float value = x[i];
    if (value > best) {
      best = value;
      index = i;
    }
  }
  for (int distance = kWarpSize / 2; distance > 0; distance /= 2) {
    const float other = shuffle_xor(best, distance);
    const int other_index = shuffle_xor(index, distance);
    if (other > best || (other == best && other_index < index)) {
      best = other;
      index = other_index;
    }
  }
  return index;
}

/// scores [E] of the products z [E].
FORGE_DEVICE void score_experts(gptr<const float> z, int experts, bool sigmoid,
                                sptr<float> scores) {
  if (sigmoid) {
    for (int e = lane(); e < experts; e += kWarpSize) {
      const float x = z[e];
      scores[e] = numerics::divide(1.0f, 1.0f + numerics::exp(-x));
    }
    return;
  }
  float max = left_out();
  for (int e = lane(); e < experts; e += kWarpSize) {
    const float x = z[e];
    scores[e] = x;
    max = x > max ? x : max;
  }
  max = warp_max(max);
  float sum = 0.0f;
  for (int e = lane(); e < experts; e += kWarpSize) {
    const float x = scores[e];
    const float power = numerics::exp(x - max);
    scores[e] = power;
    sum = sum + power;
  }
  sum = warp_sum(sum);
  for (int e = lane(); e < experts; e += kWarpSize) {
    const float power = scores[e];
    scores[e] = numerics::divide(power, sum);
  }
}

/// The sum of the `best` (1 or 2) largest of ranks [size].
FORGE_DEVICE float group_score(sptr<const float> ranks, int size, int best) {
  float first = left_out();
  float second = left_out();
  for (int i = 0; i < size; ++i) {
    const float rank = ranks[i];
    if (rank > first) {
      second = first;
      first = rank;
    } else if (rank > second) {
      second = rank;
    }
  }
  return comparable(best == 2 ? first + second : first);
}

/// Ranks outside the best groups are left out. group_scores: [groups].
FORGE_DEVICE void leave_out_groups(const gpu::ChooseExpertsArgs& a, sptr<float> ranks,
                                   sptr<float> group_scores) {
  const int size = a.experts / a.groups;
  for (int group = lane(); group < a.groups; group += kWarpSize) {
    group_scores[group] = group_score(ranks + group * size, size, a.group_best);
  }
  for (int i = 0; i < a.groups_per_token; ++i) {
    const int best = warp_argmax(group_scores, a.groups);
    if (is_own(best)) group_scores[best] = left_out();  // marks a group that is kept
  }
  sync_warp();
  for (int e = lane(); e < a.experts; e += kWarpSize) {
    const float score = group_scores[e / size];
    if (score != left_out()) ranks[e] = left_out();
  }
}

/// chosen [A] = picked [A] in ascending order.
FORGE_DEVICE void sort_experts(sptr<const int> picked, int count, sptr<int> chosen) {
  for (int i = lane(); i < count; i += kWarpSize) {
    const int own = picked[i];
    int place = 0;
    for (int n = 0; n < count; ++n) {
      const int other = picked[n];
      if (other < own || (other == own && n < i)) ++place;
    }
    chosen[place] = own;
  }
}

/// The weights of chosen [A], in ascending order of experts, to choices [A].
FORGE_DEVICE void weigh_experts(const gpu::ChooseExpertsArgs& a, sptr<const int> chosen,
                                sptr<const float> scores, gptr<gpu::ExpertChoice> choices) {
  float sum = 0.0f;
  for (int i = 0; i < a.experts_per_token; ++i) {
    const int expert = chosen[i];
    sum = sum + scores[expert];
  }
  for (int i = lane(); i < a.experts_per_token; i += kWarpSize) {
    const int expert = chosen[i];
    float weight = scores[expert];
    if (a.normalized) weight = numerics::divide(weight, sum + 1e-20f);
    choices[i] = gpu::ExpertChoice{static_cast<std::uint32_t>(expert), weight * a.routed_scale};
  }
}

FORGE_KERNEL(gpu::ChooseExpertsArgs::kThreads) choose_experts(gpu::ChooseExpertsArgs a) {
  SIMT_SHARED(float, scores, kExpertsMax);
  SIMT_SHARED(float, ranks, kExpertsMax);
  SIMT_SHARED(float, group_scores, kExpertsMax);
  SIMT_SHARED(int, picked, kExpertsMax);
  SIMT_SHARED(int, chosen, kExpertsMax);
  start_next();
  wait_for_previous();
  const auto row = static_cast<std::uint32_t>(block().x);
  const gpu::PassCounts counts = global(a.counts)[0];
  if (row >= counts.rows) return;

  score_experts(global(a.products) + std::int64_t{row} * a.experts, a.experts, a.sigmoid, scores);
  for (int e = lane(); e < a.experts; e += kWarpSize) {
    const float score = scores[e];
    ranks[e] = comparable(a.bias == nullptr ? score : score + global(a.bias)[e]);
  }
  if (a.groups_per_token < a.groups) {
    sync_warp();
    leave_out_groups(a, ranks, group_scores);
  }
  for (int i = 0; i < a.experts_per_token; ++i) {
    const int best = warp_argmax(ranks, a.experts);
    if (!is_own(best)) continue;
    ranks[best] = left_out();
    picked[i] = best;
  }
  sync_warp();
  sort_experts(picked, a.experts_per_token, chosen);
  sync_warp();
  weigh_experts(a, chosen, scores, global(a.choices) + std::int64_t{row} * a.experts_per_token);
}

}  // namespace FORGE_KERNELS
