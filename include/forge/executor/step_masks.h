// StepMasks: which tokens the grammars of a step's requests allow, for each row that one is picked
// from, before anything runs; the same for all executors.
//
// A slice has a row after its last known token and one after each draft. The mask of the first is
// that of its sequence (grammar/output_matcher.h); those behind drafts are of a copy that has
// accepted the drafts before:
//
//   known  {"a":     drafts  1  ,  x
//   row    0 digits, ...     1 digits , }     2 " or white space     3 none: x is refused by row 2,
//                                                                    so nobody asks for row 3
//
// So drafts must be known: where a pass proposes them (drafter.h), they are only on the device, and
// sequences with a grammar ask for none (step_answer.h).
//
// Thread contract: none of its own. Once the largest step has been seen, no call allocates, but for
// what matchers do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "forge/core/step_plan.h"
#include "forge/grammar/output_matcher.h"

namespace forge::executor {

class StepMasks {
 public:
  /// Begins a step with so many picks, numbered as StepSlice::first_pick counts.
  void begin(std::uint32_t pick_count);

  /// Makes the masks of picks first_pick, first_pick + 1, ... of a sequence, the latter behind
  /// `drafts`.
  void add(const grammar::OutputMatcher& output, std::span<const TokenId> drafts,
           std::uint32_t first_pick);

  /// The mask of a pick; empty where any token may be picked.
  std::span<const std::uint32_t> mask(std::uint32_t pick) const;
  /// Its number among the masks of the step; nullopt: none.
  std::optional<std::uint32_t> number(std::uint32_t pick) const;
  /// Why there is no mask, and so no token, where there should be one: no_token, grammar_limit.
  /// Otherwise none.
  FinishSignal failure(std::uint32_t pick) const;

  /// All masks, in the order of their numbers.
  std::span<const std::uint32_t> words() const { return words_; }

 private:
  struct Place {
    std::optional<std::uint32_t> number;
    FinishSignal failure = FinishSignal::none;
  };

  /// False: there is no token at this pick, so none after it.
  bool add(const grammar::OutputMatcher& output, Place& place);

  std::uint32_t pick_count_ = 0;
  std::size_t mask_words_ = 0;
  std::vector<Place> places_;  // [picks], or empty: no grammar
  std::vector<std::uint32_t> words_;
};

}  // namespace forge::executor
