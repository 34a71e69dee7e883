#include "forge/sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

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
