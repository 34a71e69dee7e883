// The pipeline of sampling: what happens to one row of logits before a token is picked from it.
//
//   step         fields of SamplingParams   what it does                              page
//   logit bias   logit_bias                 adds to the logits of single tokens       adjustment.h
//   penalties    repetition_penalty,        lower the logits of what was said         adjustment.h
//                presence_penalty,
//                frequency_penalty
//   grammar mask grammar                    keeps the tokens that lead on to a      mask.h
//                                           text of the grammar
//   temperature  temperature                divides; 0 skips all but the pick         filter.h
//   top-k        top_k                      keeps the k most likely tokens            filter.h
//   top-p        top_p                      keeps the most likely of p of the mass    filter.h
//   min-p        min_p                      keeps what is p times as likely as        filter.h
//                                           the best
//   pick         temperature, seed          argmax, or Gumbel-max                     sampler.h
//
// A token that is ruled out has the logit -inf. So a step sees no more than a row, and the last
// one, pick(), needs not know of the others.
//
// Each step is a pure function whose result is defined bit for bit, without an order of tokens: the
// CPU walks them from the most likely one down, the kernel process_logits searches with all
// threads, and both find the same. The tokens said before are those of the request, so the text
// depends on the request alone. A draft's row counts the drafts before it as said. Masks are made
// of the tokens said before, too, by executors (executor/step_masks.h).
//
// Where a new step goes: book/sampling.md.
//
// Requires: parameters are in the ranges of SamplingParams.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forge/core/ids.h"
#include "forge/core/sampling_params.h"
#include "forge/sampling/adjustments.h"
#include "forge/sampling/filter.h"

namespace forge::sampling {

Filter filter_of(const SamplingParams& params);

/// Whether the pipeline does anything before pick(), beside masking.
inline bool processes(const SamplingParams& params) {
  return adjusts(params) || filter_of(params).any();
}

/// Keeps the memory of its work from row to row. Thread contract: none of its own. Once the largest
/// row has been seen, no call allocates.
class Pipeline {
 public:
  /// All steps before pick(), on a copy of the row that stays until the next call; on the row
  /// itself where nothing is to be done. logits: [V]; `said`: the Adjustments of the sequence;
  /// `drafts`: tokens after them that count as said; `mask`: empty, or a bit for each token. A row
  /// for which can_pick() is false stays one.
  std::span<const float> process(std::span<const float> logits, const SamplingParams& params,
                                 const Adjustments& said, std::span<const TokenId> drafts,
                                 std::span<const std::uint32_t> mask = {});

 private:
  void adjust(const SamplingParams& params, const Adjustments& said,
              std::span<const TokenId> drafts);
  void rule_out(std::span<const std::uint32_t> mask);
  void filter(const Filter& filter);
  std::uint64_t mass_up_to(std::uint32_t limit);

  std::vector<float> row_;
  std::vector<std::uint32_t> depths_;
  std::vector<std::uint32_t> ordered_;
  std::vector<std::uint32_t> heap_;
  std::vector<float> weights_;
  Adjustments with_drafts_;
};

}  // namespace forge::sampling
