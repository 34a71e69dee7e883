// Tokens of small rows of logits, and what is told of them. In a case null is -inf.
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "answering.h"
#include "forge/sampling/filter.h"
#include "forge/sampling/sampler.h"

namespace forge::labs {
namespace {

using sampling::LogSoftmax;

std::string shown(float x) {
  char text[48];
  std::snprintf(text, sizeof text, "%.7g (%08x)", static_cast<double>(x), numerics::bits_of(x));
  return text;
}

/// The row of a case, `times` times one behind the other.
std::vector<float> logits_of(const Json& input) {
  const int times = input.value("times", 1);
  if (times < 1 || times > 10000) throw std::invalid_argument("times");
  std::vector<float> logits;
  for (int i = 0; i < times; ++i) {
    for (const Json& logit : input.at("logits")) {
      logits.push_back(logit.is_null() ? -INFINITY : logit.get<float>());
    }
  }
  if (!sampling::can_pick(logits)) throw std::invalid_argument("no token can be picked");
  return logits;
}

/// The same by its definition.
LogSoftmax log_softmax_of(const std::vector<float>& logits) {
  float max = -INFINITY;
  for (const float logit : logits) max = logit > max ? logit : max;
  std::uint64_t mass = 0;
  for (const float logit : logits) mass += sampling::mass_of(numerics::exp(logit - max));
  return LogSoftmax::of_mass(max, mass);
}

/// {"seed", "positions", "stream"} -> the number of each position.
Json uniform(const Json& input) {
  const auto stream = input.at("stream").get<std::uint32_t>();
  if (stream < 1 || stream > 3) throw std::invalid_argument("no such stream");
  Json answer = Json::array();
  for (const Json& position : input.at("positions")) {
    const double x = sampling::uniform(input.at("seed").get<std::uint64_t>(),
                                       position.get<std::uint64_t>(), DrawStream{stream});
    char text[48];
    std::snprintf(text, sizeof text, "%.17g", x);
    answer.push_back("position " + position.dump() + ": " + text);
  }
  return answer;
}

/// {"logits", "temperature", "seed", "positions"} -> the token of each position.
Json pick(const Json& input) {
  const std::vector<float> logits = logits_of(input);
  const SamplingParams params{.temperature = input.value("temperature", 0.0F),
                              .seed = input.value("seed", std::uint64_t{0})};
  Json answer = Json::array();
  for (const Json& position : input.at("positions")) {
    const TokenId token = sampling::pick(logits, params, position.get<std::uint64_t>());
    answer.push_back("position " + position.dump() + ": token " + std::to_string(token.value));
  }
  return answer;
}

/// {"logits", "times"} -> what the logarithms are made of.
Json log_softmax(const Json& input) {
  const LogSoftmax softmax = sampling::log_softmax(logits_of(input));
  return {"max: " + shown(softmax.max), "log_mass: " + shown(softmax.log_mass)};
}

/// {"logits", "count", "before"} -> all that the list has then; `before` is how many tokens of
/// another row it had.
Json append_likely(const Json& input) {
  const std::vector<float> logits = logits_of(input);
  std::vector<TokenLogprob> out;
  for (std::uint32_t i = 0; i < input.value("before", 0U); ++i) {
    out.push_back({TokenId(100 + i), -0.5F * static_cast<float>(i + 1)});
  }
  sampling::append_likely(logits, input.at("count").get<std::uint32_t>(), log_softmax_of(logits),
                          out);
  Json answer = Json::array();
  for (const TokenLogprob& each : out) {
    answer.push_back("token " + std::to_string(each.token.value) + ": " + shown(each.logprob));
  }
  return answer;
}

}  // namespace

std::map<std::string, Answer> tasks() {
  return {{"uniform", uniform},
          {"pick", pick},
          {"log_softmax", log_softmax},
          {"append_likely", append_likely}};
}

}  // namespace forge::labs
