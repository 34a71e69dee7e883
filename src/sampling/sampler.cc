#include "forge/sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "forge/core/check.h"
#include "forge/numerics/canonical.h"
#include "forge/numerics/vector_ops.h"
#include "forge/sampling/gumbel.h"

namespace forge::sampling {
namespace {

TokenId argmax(std::span<const float> logits) {
  return TokenId(
      static_cast<std::uint32_t>(numerics::argmax(logits.data(), static_cast<int>(logits.size()))));
}

/// Without its sign, adding 1 to the exponent of a number that is infinite or none carries into the
/// sign's place. No branch, so that this is a loop of vectors.
bool all_finite(std::span<const float> logits) {
  constexpr std::uint32_t kSign = 0x80000000;
  constexpr std::uint32_t kUnit = 0x00800000;
  std::uint32_t carried = 0;
  for (const float logit : logits) carried |= (numerics::bits_of(logit) & ~kSign) + kUnit;
  return (carried & kSign) == 0;
}

}  // namespace

bool can_pick(std::span<const float> logits) {
  if (all_finite(logits)) return true;
  const auto is_finite = [](float logit) { return std::isfinite(logit); };
  const auto is_none = [](float logit) { return !(logit < INFINITY); };  // NaN too
  return std::ranges::none_of(logits, is_none) && std::ranges::any_of(logits, is_finite);
}

TokenId pick(std::span<const float> logits, const SamplingParams& params, std::uint64_t position) {
  FORGE_CHECK(params.temperature >= 0.0F, "temperature=", params.temperature);
  const TokenId top = argmax(logits);
  if (params.temperature == 0.0F) return top;
  const GumbelDraw draw{params.seed, position, params.temperature, logits[top.value]};
  BestToken best{draw.top_score(top.value), top.value};
  for (std::size_t first = 0; first < logits.size(); first += kNoiseGroup) {
    float group[kNoiseGroup];
    for (std::size_t i = 0; i < kNoiseGroup; ++i) {
      group[i] = first + i < logits.size() ? logits[first + i] : -INFINITY;
    }
    draw.offer(group, static_cast<std::uint32_t>(first), best);
  }
  return TokenId(best.token);
}

float margin(std::span<const float> logits, const SamplingParams& params, std::uint64_t position,
             TokenId picked) {
  const bool greedy = params.temperature == 0.0F;
  const GumbelDraw draw{params.seed, position, params.temperature,
                        numerics::max(logits.data(), static_cast<int>(logits.size()))};
  BestToken second{std::numeric_limits<float>::lowest(), picked.value};
  for (std::size_t first = 0; first < logits.size(); first += kNoiseGroup) {
    float group[kNoiseGroup];
    for (std::size_t i = 0; i < kNoiseGroup; ++i) {
      const std::size_t token = first + i;
      group[i] = token < logits.size() && token != picked.value ? logits[token] : -INFINITY;
      if (greedy) second.offer(group[i], static_cast<std::uint32_t>(token));
    }
    if (!greedy) draw.offer(group, static_cast<std::uint32_t>(first), second);
  }
  return draw.margin(logits[picked.value], picked.value, second);
}

LogSoftmax log_softmax(std::span<const float> logits) {
  constexpr std::size_t kTogether = 256;
  const float max = numerics::max(logits.data(), static_cast<int>(logits.size()));
  std::uint64_t mass = 0;
  for (std::size_t first = 0; first < logits.size(); first += kTogether) {
    const std::size_t count = std::min(kTogether, logits.size() - first);
    float weights[kTogether];
    numerics::exp_minus(logits.data() + first, max, static_cast<int>(count), weights);
    for (std::size_t i = 0; i < count; ++i) mass += mass_of(weights[i]);
  }
  return LogSoftmax::of_mass(max, mass);
}

void append_likely(std::span<const float> logits, std::uint32_t count, const LogSoftmax& softmax,
                   std::vector<TokenLogprob>& out) {
  const std::size_t begin = out.size();
  for (std::uint32_t token = 0; token < logits.size(); ++token) {
    const float logit = logits[token];
    const bool full = out.size() - begin == count;
    if (logit == -INFINITY || count == 0 || (full && logit <= out.back().logprob)) continue;
    if (full) out.pop_back();
    const auto place = std::find_if(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(),
                                    [&](const TokenLogprob& each) { return logit > each.logprob; });
    out.insert(place, {TokenId(token), logit});  // its logit, until all are known
  }
  for (std::size_t i = begin; i < out.size(); ++i) out[i].logprob = softmax(out[i].logprob);
}

void probabilities(std::span<const float> logits, float temperature, std::span<double> out) {
  FORGE_CHECK(temperature >= 0.0F, "temperature=", temperature);
  FORGE_CHECK(out.size() == logits.size(), "out=", out.size(), " logits=", logits.size());
  if (temperature == 0.0F) {
    std::fill(out.begin(), out.end(), 0.0);
    out[argmax(logits).value] = 1.0;
    return;
  }
  const float max = numerics::max(logits.data(), static_cast<int>(logits.size()));
  double total = 0.0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    out[i] = static_cast<double>(numerics::exp((logits[i] - max) / temperature));
    total += out[i];
  }
  for (double& p : out) p /= total;
}

double uniform(std::uint64_t seed, std::uint64_t position, DrawStream stream) {
  const std::uint32_t word =
      random_words(seed, position, 0, static_cast<std::uint32_t>(stream)).x[0];
  return (static_cast<double>(word) + 0.5) * 0x1p-32;
}

}  // namespace forge::sampling
