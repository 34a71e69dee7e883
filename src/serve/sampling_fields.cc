#include "sampling_fields.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "forge/core/quoted.h"
#include "forge/json/parse.h"

namespace forge::serve {
namespace {

using json::Fields;

/// OpenAI's; a model may be sampled above it, but hardly anybody wants that.
constexpr NumberRange kTemperatures{0, 2};
/// Below it, logits divided by the temperature could overflow; 0 itself is greedy.
constexpr double kTemperatureLowest = 1e-6;

float read_temperature(const Fields& fields, double fallback) {
  const double temperature = fields.number("temperature", kTemperatures, fallback);
  if (temperature != 0 && temperature < kTemperatureLowest) {
    fields.fail("temperature", "0 (greedy), or " + accepted(NumberRange{kTemperatureLowest, 2}));
  }
  return static_cast<float>(temperature);
}

float read_number(const Fields& fields, const char* name, NumberRange range, float fallback) {
  return static_cast<float>(fields.number(name, range, double{fallback}));
}

std::optional<TokenId> token_of(const std::string& text, std::uint32_t vocabulary_size) {
  std::uint32_t token = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, token);
  if (read.ec != std::errc() || read.ptr != end || token >= vocabulary_size) return std::nullopt;
  return TokenId(token);
}

std::vector<TokenBias> read_logit_bias(const Fields& fields, std::uint32_t vocabulary_size) {
  std::vector<TokenBias> biases;
  const auto object = fields.object("logit_bias");
  if (!object) return biases;
  const std::vector<std::string> keys = object->keys();
  if (keys.size() > SamplingParams::kLogitBiasMax) {
    fields.refuse("logit_bias", "has " + std::to_string(keys.size()) +
                                    " tokens; accepted are up to " +
                                    std::to_string(SamplingParams::kLogitBiasMax));
    return biases;
  }
  biases.reserve(keys.size());
  for (const std::string& key : keys) {
    const auto token = token_of(key, vocabulary_size);
    if (!token) {
      fields.refuse("logit_bias", "has the token id " + in_quotes(key) + "; accepted is " +
                                      accepted(IntegerRange{0, std::int64_t{vocabulary_size} - 1}));
      return biases;
    }
    biases.push_back({*token, static_cast<float>(object->number(key, TokenBias::kBias))});
  }
  object->finish();
  std::ranges::sort(biases, {}, &TokenBias::token);
  const auto twice = std::ranges::adjacent_find(biases, {}, &TokenBias::token);  // "7" and "07"
  if (twice != biases.end()) {
    fields.refuse("logit_bias",
                  "has the token id " + std::to_string(twice->token.value) + " twice");
  }
  return biases;
}

}  // namespace

SamplingParams read_sampling(const Fields& fields, std::uint32_t vocabulary_size,
                             double temperature) {
  using S = SamplingParams;
  const S defaults;
  SamplingParams sampling{.temperature = read_temperature(fields, temperature)};
  // A negative seed is as good as another: its bits count.
  constexpr auto kSeeds = IntegerRange{std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::max()};
  sampling.seed = fields.integer<std::uint64_t>("seed", kSeeds, 0);
  sampling.logit_bias = read_logit_bias(fields, vocabulary_size);
  sampling.repetition_penalty =
      read_number(fields, "repetition_penalty", S::kRepetitionPenalty, defaults.repetition_penalty);
  sampling.presence_penalty =
      read_number(fields, "presence_penalty", S::kPenalty, defaults.presence_penalty);
  sampling.frequency_penalty =
      read_number(fields, "frequency_penalty", S::kPenalty, defaults.frequency_penalty);
  const auto top_k = fields.integer<std::int64_t>("top_k", {-1, S::kTopK.highest}, 0);
  sampling.top_k = static_cast<std::uint32_t>(std::max<std::int64_t>(top_k, 0));
  sampling.top_p = read_number(fields, "top_p", S::kProbability, defaults.top_p);
  sampling.min_p = read_number(fields, "min_p", S::kProbability, defaults.min_p);
  return sampling;
}

}  // namespace forge::serve
