// Request: what a caller asks for, as the policy core and the targets see it.
//
// Tokens in, tokens out; text is above. A request carries all that its output
// depends on: same request, same tokens and logits, whatever else is running
// (DESIGN.md, invariant 11).
#pragma once

#include <cstdint>
#include <vector>

#include "forge/core/ids.h"

namespace forge {

/// How a target turns logits into tokens. The policy core carries it and never reads it.
struct SamplingParams {
  /// 0 is greedy (argmax, ties to the lower token id). Above 0, Gumbel noise that is
  /// a pure function of (seed, position, token) is added to logits / temperature.
  float temperature = 0.0F;
  std::uint64_t seed = 0;

  friend bool operator==(const SamplingParams&, const SamplingParams&) = default;
};

struct Request {
  std::vector<TokenId> prompt;        ///< at least one token
  std::uint32_t max_new_tokens = 32;  ///< at least 1
  SamplingParams sampling;
  /// Go on through the end-of-sequence token until max_new_tokens (benchmarks).
  bool ignore_eos = false;

  friend bool operator==(const Request&, const Request&) = default;
};

}  // namespace forge
