#include "forge/model/rope_frequencies.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "forge/numerics/rotary.h"

namespace forge::model {
namespace {

constexpr double kTwoPi = 2 * std::numbers::pi;

/// What each kind of scaling makes of the frequencies of all pairs.
struct Scale {
  const RopeConfig& rope;
  std::vector<double>& frequencies;

  void operator()(std::monostate) const {}

  void operator()(const LinearRope& linear) const {
    for (double& frequency : frequencies) frequency /= linear.factor;
  }

  void operator()(const Llama3Rope& llama3) const {
    for (double& frequency : frequencies) {
      const double turns = llama3.original_positions * frequency / kTwoPi;
      const double kept =
          (turns - llama3.low_freq_factor) / (llama3.high_freq_factor - llama3.low_freq_factor);
      mix(frequency, llama3.factor, std::clamp(kept, 0.0, 1.0));
    }
  }

  void operator()(const YarnRope& yarn) const {
    double first = std::max(pair_of_turns(yarn, yarn.beta_fast), 0.0);
    double last = std::min(pair_of_turns(yarn, yarn.beta_slow), rope.size - 1.0);
    if (yarn.truncate) {
      first = std::floor(first);
      last = std::min(std::ceil(last), rope.size - 1.0);
    }
    if (first == last) last += 0.001;  // a step, not a division by zero
    for (std::size_t pair = 0; pair < frequencies.size(); ++pair) {
      const double slowed = (static_cast<double>(pair) - first) / (last - first);
      mix(frequencies[pair], yarn.factor, 1 - std::clamp(slowed, 0.0, 1.0));
    }
  }

  void operator()(const TabledRope& tabled) const { divide(tabled.divisors); }

  void operator()(const DynamicRope&) const {}

  void operator()(const LongRope& c) const {
    divide(c.is_long ? c.long_divisors : c.short_divisors);
  }

 private:
  void divide(const std::vector<float>& divisors) const {
    for (std::size_t pair = 0; pair < frequencies.size(); ++pair) {
      frequencies[pair] /= static_cast<double>(divisors[pair]);
    }
  }

  /// `kept` of the frequency as it is, the rest of it divided by the factor.
  static void mix(double& frequency, double factor, double kept) {
    frequency = frequency * kept + frequency / factor * (1 - kept);
  }

  /// The pair, a fraction, that turns `turns` times in the positions of the training:
  /// base^(-2 pair / size) * positions = 2 pi turns.
  double pair_of_turns(const YarnRope& yarn, double turns) const {
    return rope.size * numerics::log_double(yarn.original_positions / (turns * kTwoPi)) /
           (2 * numerics::log_double(rope.base));
  }
};

}  // namespace

std::vector<double> rope_frequencies(const RopeConfig& rope) {
  std::vector<double> frequencies;
  frequencies.reserve(static_cast<std::size_t>(rope.size) / 2);
  for (int pair = 0; pair < rope.size / 2; ++pair) {
    frequencies.push_back(numerics::rotary_frequency(rope.base, pair, rope.size));
  }
  std::visit(Scale{rope, frequencies}, rope.scaling);
  return frequencies;
}

double rope_attention_factor(const RopeConfig& rope) {
  if (const auto* yarn = std::get_if<YarnRope>(&rope.scaling)) return yarn->attention_factor;
  const auto* const long_rope = std::get_if<LongRope>(&rope.scaling);
  return long_rope == nullptr ? 1 : long_rope->attention_factor;
}

}  // namespace forge::model
