// The fields that become SamplingParams (core/sampling_params.h).
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "field_readers.h"
#include "forge/core/quoted.h"
#include "forge/json/parse.h"

namespace forge::serve {
namespace {

using json::Fields;

/// OpenAI's; a model may be sampled above it, but hardly anybody wants that.
constexpr NumberRange kTemperatures{0, 2};
/// Below it, logits divided by the temperature could overflow; 0 itself is greedy.
constexpr double kTemperatureLowest = 1e-6;

float number(const Reading& reading, const char* name, NumberRange range, double fallback) {
  return static_cast<float>(reading.fields.number(name, range, fallback));
}

std::optional<TokenId> token_of(const std::string& text, std::uint32_t vocabulary_size) {
  std::uint32_t token = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, token);
  if (read.ec != std::errc() || read.ptr != end || token >= vocabulary_size) return std::nullopt;
  return TokenId(token);
}

std::vector<TokenBias> logit_bias_of(const Fields& fields, std::uint32_t vocabulary_size) {
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

void read_temperature(const Reading& reading) {
  const double otherwise = reading.kind == RequestKind::generate ? 0 : 1;
  const double temperature = reading.fields.number("temperature", kTemperatures, otherwise);
  if (temperature != 0 && temperature < kTemperatureLowest) {
    reading.fields.fail("temperature",
                        "0 (greedy), or " + accepted(NumberRange{kTemperatureLowest, 2}));
  }
  reading.request.sampling.temperature = static_cast<float>(temperature);
}

void read_seed(const Reading& reading) {
  // A negative seed is as good as another: its bits count.
  constexpr IntegerRange kSeeds{std::numeric_limits<std::int64_t>::min(),
                                std::numeric_limits<std::int64_t>::max()};
  reading.request.sampling.seed = reading.fields.integer<std::uint64_t>("seed", kSeeds, 0);
}

void read_logit_bias(const Reading& reading) {
  reading.request.sampling.logit_bias =
      logit_bias_of(reading.fields, reading.model.vocabulary_size);
}

void read_repetition_penalty(const Reading& reading) {
  reading.request.sampling.repetition_penalty =
      number(reading, "repetition_penalty", SamplingParams::kRepetitionPenalty, 1);
}

void read_presence_penalty(const Reading& reading) {
  reading.request.sampling.presence_penalty =
      number(reading, "presence_penalty", SamplingParams::kPenalty, 0);
}

void read_frequency_penalty(const Reading& reading) {
  reading.request.sampling.frequency_penalty =
      number(reading, "frequency_penalty", SamplingParams::kPenalty, 0);
}

void read_top_k(const Reading& reading) {
  const auto top_k =
      reading.fields.integer<std::int64_t>("top_k", {-1, SamplingParams::kTopK.highest}, 0);
  reading.request.sampling.top_k = static_cast<std::uint32_t>(std::max<std::int64_t>(top_k, 0));
}

void read_top_p(const Reading& reading) {
  reading.request.sampling.top_p = number(reading, "top_p", SamplingParams::kProbability, 1);
}

void read_min_p(const Reading& reading) {
  reading.request.sampling.min_p = number(reading, "min_p", SamplingParams::kProbability, 0);
}

}  // namespace forge::serve
