// Adjustments: the tokens of one sequence whose logits may change, with what the steps need to know
// of them (adjustment.h): what logit bias names, and, where there are penalties, what was said.
#pragma once

#include <span>
#include <vector>

#include "forge/core/ids.h"
#include "forge/core/sampling_params.h"
#include "forge/sampling/adjustment.h"

namespace forge::sampling {

Penalties penalties_of(const SamplingParams& params);

/// Whether logits of single tokens change, so that the tokens said before must be known.
bool adjusts(const SamplingParams& params);

/// Empty for a request that adjusts nothing.
///
/// Thread contract: none of its own. add() allocates only for a token that is new.
class Adjustments {
 public:
  Adjustments() = default;
  Adjustments(const SamplingParams& params, std::span<const TokenId> prompt);

  /// The output has grown by `token`.
  void add(TokenId token);

  /// Ascending by token, each once.
  std::span<const Adjustment> list() const { return list_; }

 private:
  Adjustment& of(TokenId token);

  bool penalties_ = false;
  std::vector<Adjustment> list_;
};

}  // namespace forge::sampling
