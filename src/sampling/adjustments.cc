#include "forge/sampling/adjustments.h"

#include <algorithm>

#include "forge/core/check.h"

namespace forge::sampling {

Penalties penalties_of(const SamplingParams& params) {
  return {params.repetition_penalty, params.presence_penalty, params.frequency_penalty};
}

bool adjusts(const SamplingParams& params) {
  return !params.logit_bias.empty() || penalties_of(params).any();
}

Adjustments::Adjustments(const SamplingParams& params, std::span<const TokenId> prompt)
    : penalties_(penalties_of(params).any()) {
  FORGE_CHECK(params.logit_bias.size() <= SamplingParams::kLogitBiasMax,
              "logit_bias=", params.logit_bias.size());
  if (params.repetition_penalty != 1.0F) {
    std::vector<TokenId> tokens(prompt.begin(), prompt.end());
    std::ranges::sort(tokens);
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    list_.reserve(tokens.size() + params.logit_bias.size());
    for (const TokenId token : tokens) list_.push_back({.token = token.value, .in_prompt = 1});
  }
  for (const TokenBias& each : params.logit_bias) of(each.token).bias = each.bias;
}

Adjustment& Adjustments::of(TokenId token) {
  const auto place = std::ranges::lower_bound(list_, token.value, {}, &Adjustment::token);
  if (place != list_.end() && place->token == token.value) return *place;
  return *list_.insert(place, {.token = token.value});
}

void Adjustments::add(TokenId token) {
  if (penalties_) ++of(token).in_output;
}

}  // namespace forge::sampling
