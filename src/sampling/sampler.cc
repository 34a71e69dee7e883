#include "forge/sampling/sampler.h"

#include <algorithm>
#include <cstddef>

#include "forge/core/check.h"
#include "forge/numerics/canonical.h"
#include "forge/numerics/philox.h"
#include "forge/numerics/vector_ops.h"

namespace forge {
namespace {

/// The stream of the Gumbel noise; the others are those of DrawStream.
constexpr std::uint32_t kGumbelStream = 0;

/// Above every value that the noise can take: u <= 1 - 2^-24, so g < 24 ln(2) = 16.64.
constexpr float kNoiseMax = 16.7F;

numerics::Words4 random_words(std::uint64_t seed, std::uint64_t position, std::uint32_t index,
                              std::uint32_t stream) {
  return numerics::philox({{static_cast<std::uint32_t>(position),
                            static_cast<std::uint32_t>(position >> 32), index, stream}},
                          seed);
}

/// Gumbel noise of a uniform number.
float gumbel(float u) { return -numerics::log(-numerics::log(u)); }

/// A number at least as large as gumbel(u), for the price of an exponent. With v = 1 - u (exact):
/// -log(u) >= v, so g <= -log(v) <= -ln(2) floor(log2(v)). The margin covers the rounding of g
/// and of a score below.
float gumbel_bound(float u) {
  const auto biased_exponent = static_cast<int>(numerics::bits_of(1.0F - u) >> 23);
  return static_cast<float>(127 - biased_exponent) * 0.6931472F + 0.001F;
}

/// The best token so far. Offers may come in any order.
struct Best {
  float score;
  std::size_t token;

  void offer(float s, std::size_t t) {
    if (s > score || (s == score && t < token)) *this = {s, t};
  }
};

TokenId argmax(std::span<const float> logits) {
  return TokenId(
      static_cast<std::uint32_t>(numerics::argmax(logits.data(), static_cast<int>(logits.size()))));
}

}  // namespace

// Most tokens cannot win, whatever the logarithms say: only the few whose bound reaches the
// best score so far pay for them. The result is that of scoring all.
TokenId pick(std::span<const float> logits, const SamplingParams& params, std::uint64_t position) {
  FORGE_CHECK(params.temperature >= 0.0F, "temperature=", params.temperature);
  const TokenId top = argmax(logits);
  if (params.temperature == 0.0F) return top;
  const float max = logits[top.value];
  const auto words_of = [&](std::size_t group) {
    return random_words(params.seed, position, static_cast<std::uint32_t>(group), kGumbelStream);
  };
  const float top_u = numerics::uniform_open(words_of(top.value / 4).x[top.value % 4]);
  Best best{gumbel(top_u), top.value};
  for (std::size_t first = 0; first < logits.size(); first += 4) {
    const std::size_t count = std::min<std::size_t>(4, logits.size() - first);
    float scaled[4];
    bool in_reach = false;
    for (std::size_t i = 0; i < count; ++i) {
      scaled[i] = (logits[first + i] - max) / params.temperature;
      in_reach |= scaled[i] + kNoiseMax >= best.score;
    }
    if (!in_reach) continue;
    const numerics::Words4 words = words_of(first / 4);
    for (std::size_t i = 0; i < count; ++i) {
      const float u = numerics::uniform_open(words.x[i]);
      if (scaled[i] + gumbel_bound(u) < best.score) continue;
      best.offer(scaled[i] + gumbel(u), first + i);
    }
  }
  return TokenId(static_cast<std::uint32_t>(best.token));
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

}  // namespace forge
