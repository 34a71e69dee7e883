// process_logits: the steps between a row of logits and the pick, in place (sampling/pipeline.h).
//
//   grid      x: rows of logits; a block of up to 512 threads a row
//   memory    consecutive threads read consecutive logits. The row is read once for its largest
//             logit, 16 times for top-k, 17 times for top-p, from the cache, and written once; a
//             mask takes a reading and a writing of its own
//   bits      each step is a function of sampling/adjustment.h, mask.h or filter.h. Counts and
//             masses are integers, so threads may add them in any order
//
// A step that keeps tokens down to some depth asks: which is the smallest depth that leaves enough?
// What is left only grows with the depth, so the block halves the range of the answer, twice at a
// time: three depths are tried in one reading.
#pragma once

#include "best_token.cuh"
#include "forge/gpu/kernels/process_logits.h"
#include "forge/sampling/mask.h"

namespace FORGE_KERNELS {
using namespace simt;

inline constexpr int kProcessWarps = gpu::ProcessLogitsArgs::kThreads / kWarpSize;

/// The row of a block, and where its threads meet.
struct ProcessedRow {
  static constexpr int kTried = 3;
  gptr<float> logits;
  int vocabulary;
  float max;  ///< the largest logit
  float temperature;
  sptr<std::uint64_t> sums;  ///< [2][kTried][kProcessWarps]
  int turn;                  ///< which half of `sums` is free: a block may still read the other

  FORGE_DEVICE std::uint32_t depth(int token) const {
    const float logit = logits[token];
    return sampling::depth_of(logit, max, temperature);
  }

  /// The sums of all threads' values, in every thread.
  FORGE_DEVICE void sum_of_block(std::uint64_t (&values)[kTried]) {
    const sptr<std::uint64_t> half = sums + turn * kTried * kProcessWarps;
    turn = 1 - turn;
    for (int i = 0; i < kTried; ++i) {
      for (int distance = kWarpSize / 2; distance > 0; distance /= 2) {
        values[i] += shuffle_xor(values[i], distance);
      }
      if (lane() == 0) half[i * kProcessWarps + warp()] = values[i];
    }
    sync_block();
    for (int i = 0; i < kTried; ++i) {
      values[i] = 0;
      for (int w = 0; w < threads() / kWarpSize; ++w) {
        const std::uint64_t part = half[i * kProcessWarps + w];
        values[i] += part;
      }
    }
  }

  /// amounts[i]: what the tokens whose depth is at most limits[i] come to; amount(depth) is one's.
  template <class Amount>
  FORGE_DEVICE void amounts_up_to(const std::uint32_t (&limits)[kTried], const Amount& amount,
                                  std::uint64_t (&amounts)[kTried]) {
    for (std::uint64_t& amount_up_to : amounts) amount_up_to = 0;
    for (int token = thread(); token < vocabulary; token += threads()) {
      const std::uint32_t at = depth(token);
      const std::uint64_t one = amount(at);
      for (int i = 0; i < kTried; ++i) amounts[i] += at <= limits[i] ? one : 0;
    }
    sum_of_block(amounts);
  }

  /// The smallest depth whose amount is at least `wanted`; `most` if none below it is.
  template <class Amount>
  FORGE_DEVICE std::uint32_t smallest_depth(std::uint64_t wanted, std::uint32_t most,
                                            const Amount& amount) {
    std::uint32_t low = 0;
    std::uint32_t high = most;
    while (low < high) {
      const std::uint32_t half = (high - low) / 2;
      const std::uint32_t tried[kTried] = {low + half / 2, low + half, low + half + half / 2};
      std::uint64_t amounts[kTried];
      amounts_up_to(tried, amount, amounts);
      for (int i = kTried - 1; i >= 0; --i) {
        if (amounts[i] >= wanted) {
          high = tried[i];
        } else if (tried[i] >= low) {
          low = tried[i] + 1;
        }
      }
    }
    return low;
  }
};

/// The number of the adjustment of a token among [count], or `count`.
FORGE_DEVICE std::uint32_t find_adjustment(gptr<const sampling::Adjustment> list,
                                           std::uint32_t count, std::uint32_t token) {
  std::uint32_t low = 0;
  for (std::uint32_t end = count; low < end;) {
    const std::uint32_t middle = low + (end - low) / 2;
    const sampling::Adjustment at = list[middle];
    if (at.token < token) {
      low = middle + 1;
    } else {
      end = middle;
    }
  }
  if (low == count) return count;
  const sampling::Adjustment found = list[low];
  return found.token == token ? low : count;
}

/// Changes the logits of single tokens: those of the list, then the drafts that it does not have.
FORGE_DEVICE void adjust_tokens(const gpu::ProcessLogitsArgs& a, const gpu::ProcessInput& input,
                                gptr<float> row) {
  const gptr<const sampling::Adjustment> list = global(a.adjustments) + input.first_adjustment;
  const gptr<const std::uint32_t> drafts = global(a.drafts) + input.first_draft;
  const auto adjust = [&](sampling::Adjustment by) {
    if (by.token >= static_cast<std::uint32_t>(a.vocabulary)) return;
    for (std::uint32_t i = 0; i < input.draft_count; ++i) {
      const std::uint32_t draft = drafts[i];
      by.in_output += draft == by.token ? 1 : 0;
    }
    const float logit = row[by.token];
    row[by.token] = sampling::adjusted(logit, by, input.penalties);
  };
  const auto first = static_cast<std::uint32_t>(thread());
  const auto stride = static_cast<std::uint32_t>(threads());
  for (std::uint32_t i = first; i < input.adjustment_count; i += stride) {
    const sampling::Adjustment by = list[i];
    adjust(by);
  }
  for (std::uint32_t i = first; i < input.draft_count; i += stride) {
    const std::uint32_t token = drafts[i];
    bool known = find_adjustment(list, input.adjustment_count, token) < input.adjustment_count;
    for (std::uint32_t before = 0; before < i; ++before) {
      const std::uint32_t draft = drafts[before];
      known |= draft == token;
    }
    if (!known) adjust({.token = token});
  }
}

/// Rules out the tokens whose bits a mask lacks. All threads of a warp read the same word.
FORGE_DEVICE void mask_tokens(const gpu::ProcessLogitsArgs& a, std::uint32_t number,
                              gptr<float> row) {
  const auto words =
      static_cast<std::int64_t>(sampling::mask_words(static_cast<std::uint32_t>(a.vocabulary)));
  const gptr<const std::uint32_t> mask = global(a.masks) + number * words;
  for (int token = thread(); token < a.vocabulary; token += threads()) {
    const std::uint32_t word = mask[token / 32];
    const float logit = row[token];
    row[token] = sampling::masked(logit, static_cast<std::uint32_t>(token), word);
  }
}

FORGE_KERNEL(gpu::ProcessLogitsArgs::kThreads) process_logits(gpu::ProcessLogitsArgs a) {
  SIMT_SHARED(float, top_scores, kProcessWarps);
  SIMT_SHARED(std::uint32_t, top_tokens, kProcessWarps);
  SIMT_SHARED(std::uint64_t, sums, 2 * ProcessedRow::kTried * kProcessWarps);
  const auto i = static_cast<std::uint32_t>(block().x);
  const gpu::PassCounts counts = global(a.counts)[0];
  if (i >= counts.logit_rows) return;
  const gpu::ProcessInput input = global(a.inputs)[i];
  const gptr<float> row = global(a.logits) + std::int64_t{i} * a.vocabulary;
  adjust_tokens(a, input, row);
  const bool is_masked = input.mask != gpu::ProcessInput::kNoMask;
  const sampling::Filter filter = input.filter;
  if (!is_masked && !filter.any()) return;
  sync_block();
  // From here on a thread reads and writes logits of its own.
  if (is_masked) mask_tokens(a, input.mask, row);
  if (!filter.any()) return;

  sampling::BestToken best = no_token();
  for (int token = thread(); token < a.vocabulary; token += threads()) {
    const float logit = row[token];
    offer_logit(best, logit, static_cast<std::uint32_t>(token));
  }
  best = best_of_block(best, top_scores, top_tokens);
  if (best.token == kNoPick) return;

  ProcessedRow processed{row, a.vocabulary, best.score, filter.temperature, sums, 0};
  const auto count = [](std::uint32_t) { return std::uint64_t{1}; };
  const auto mass = [](std::uint32_t depth) { return sampling::mass_at(depth); };
  std::uint32_t limit = sampling::kDepthMax;
  if (filter.top_k > 0) limit = processed.smallest_depth(filter.top_k, limit, count);
  if (filter.top_p < 1.0f) {
    std::uint64_t total[ProcessedRow::kTried];
    processed.amounts_up_to({limit, limit, limit}, mass, total);
    const std::uint64_t wanted = sampling::mass_wanted(filter.top_p, total[0]);
    limit = processed.smallest_depth(wanted, limit, mass);
  }
  const std::uint32_t never_likely = sampling::depth_never_likely(filter.min_p);
  limit = never_likely < limit ? never_likely : limit;
  for (int token = thread(); token < a.vocabulary; token += threads()) {
    const float logit = row[token];
    const std::uint32_t depth = sampling::depth_of(logit, best.score, filter.temperature);
    const bool stays = depth <= limit && sampling::is_likely(depth, filter.min_p);
    row[token] = stays ? logit : numerics::float_of(0xff800000u);
  }
}

}  // namespace FORGE_KERNELS
