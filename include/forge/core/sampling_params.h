// SamplingParams: how a target turns logits into tokens, as one value.
//
// The fields are the parameters of the pipeline's steps; sampling/pipeline.h says what each step
// does. The defaults do nothing, but for the greedy pick. Beside each field stands its range, which
// the API and the reader of traces ask, too.
//
// The policy core carries the value and never reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/ids.h"
#include "forge/core/output_grammar.h"
#include "forge/core/range.h"

namespace forge {

/// What is added to the logit of one token.
struct TokenBias {
  TokenId token;
  float bias = 0.0F;
  static constexpr NumberRange kBias{-100, 100};

  friend bool operator==(const TokenBias&, const TokenBias&) = default;
};

struct SamplingParams {
  /// 0 is greedy (argmax, ties to the lower token id). Above 0, Gumbel noise that is
  /// a pure function of (seed, position, token) is added to logits / temperature.
  float temperature = 0.0F;
  static constexpr NumberRange kTemperature{0, std::numeric_limits<float>::max()};

  std::uint64_t seed = 0;

  std::vector<TokenBias> logit_bias;  ///< ascending by token, each once
  static constexpr std::size_t kLogitBiasMax = 1024;

  float repetition_penalty = 1.0F;  ///< of tokens in the prompt or the output
  static constexpr NumberRange kRepetitionPenalty{0.0625, 16};

  float presence_penalty = 0.0F;   ///< of tokens in the output
  float frequency_penalty = 0.0F;  ///< of tokens in the output, for each time
  static constexpr NumberRange kPenalty{-2, 2};

  /// Which texts the output may be. Tokens that do not lead on to one are ruled out.
  std::optional<OutputGrammar> grammar;

  std::uint32_t top_k = 0;  ///< so many of the most likely tokens; 0: all
  static constexpr IntegerRange kTopK{0, 1 << 30};

  float top_p = 1.0F;  ///< the most likely tokens that have this part of the mass
  float min_p = 0.0F;  ///< tokens at least this times as likely as the best
  static constexpr NumberRange kProbability{0, 1};

  // What is to be told of tokens (TokenReport in step_plan.h). It changes none of them.

  /// Of each token of the output its log-probability, and so many of the most likely tokens.
  std::optional<std::uint32_t> logprobs;
  static constexpr IntegerRange kLogprobs{0, 20};

  /// The same of the tokens of the prompt that are run; those of a cached prefix are not.
  bool prompt_logprobs = false;

  /// Of each token of the output the margin by which it was picked.
  bool margins = false;

  friend bool operator==(const SamplingParams&, const SamplingParams&) = default;
};

/// Errors: the first field out of its range, a logit_bias that is too long or out of order, or a
/// grammar without forms.
tl::expected<void, ConfigError> validate(const SamplingParams& params);

}  // namespace forge
