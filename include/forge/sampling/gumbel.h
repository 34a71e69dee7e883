// The Gumbel-max trick, token by token, for host and device: what pick() (sampler.h) does on a CPU
// and the kernel `sample` on a GPU. sampler.h says why the noise is looked up and not drawn.
//
//   noise of token t at `position`:  u = word t % 4 of philox({position, t / 4, stream 0}, seed)
//                                    g = -log(-log(u))
//   score of token t:                (logit[t] - max) / temperature + g
//
// The token with the highest score is picked; of tokens with equal scores the lowest. Tokens may be
// offered in any order and by any number of threads, since "higher, or equal and lower token"
// orders them fully.
//
// Most tokens cannot win, whatever the logarithms say: only the few whose bound reaches the best
// score so far pay for them. The result is that of scoring all.
//
// Pure, thread-safe. Numerics are canonical.
#pragma once

#include <cstdint>

#include "forge/numerics/canonical.h"
#include "forge/numerics/philox.h"

namespace forge::sampling {

/// The stream of the Gumbel noise; the others are those of DrawStream (core/acceptance.h).
inline constexpr std::uint32_t kGumbelStream = 0;

/// The number of tokens whose noise is one Philox block.
inline constexpr int kNoiseGroup = 4;

/// The random words number `index` of a stream, for the token at `position`.
FORGE_HOST_DEVICE inline numerics::Words4 random_words(std::uint64_t seed, std::uint64_t position,
                                                       std::uint32_t index, std::uint32_t stream) {
  return numerics::philox({{static_cast<std::uint32_t>(position),
                            static_cast<std::uint32_t>(position >> 32), index, stream}},
                          seed);
}

/// Gumbel noise of a uniform number in (0, 1).
FORGE_HOST_DEVICE inline float gumbel(float u) { return -numerics::log(-numerics::log(u)); }

/// A number at least as large as gumbel(u), for the price of an exponent. With v = 1 - u (exact):
/// -log(u) >= v, so g <= -log(v) <= -ln(2) floor(log2(v)). The margin covers the rounding of g
/// and of a score.
FORGE_HOST_DEVICE inline float gumbel_bound(float u) {
  const auto biased_exponent = static_cast<int>(numerics::bits_of(1.0F - u) >> 23);
  return static_cast<float>(127 - biased_exponent) * 0.6931472F + 0.001F;
}

/// A bound above every gumbel(u): u <= 1 - 2^-24, so g < 24 ln(2) = 16.64.
inline constexpr float kGumbelMax = 16.7F;

/// The best token so far.
struct alignas(8) BestToken {
  float score;
  std::uint32_t token;

  FORGE_HOST_DEVICE void offer(float s, std::uint32_t t) {
    if (s > score || (s == score && t < token)) *this = {s, t};
  }
};

/// One draw: the token at `position` of the request with `seed`.
struct GumbelDraw {
  std::uint64_t seed;
  std::uint64_t position;
  float temperature;  ///< above 0
  float max;          ///< the largest logit

  /// The score of a token whose logit is `max`.
  FORGE_HOST_DEVICE float top_score(std::uint32_t token) const { return score(max, token); }

  FORGE_HOST_DEVICE float score(float logit, std::uint32_t token) const {
    const numerics::Words4 words = random_words(seed, position, token / kNoiseGroup, kGumbelStream);
    std::uint32_t word = 0;
    for (std::uint32_t i = 0; i < kNoiseGroup; ++i) {
      if (i == token % kNoiseGroup) word = words.x[i];
    }
    const float scaled = numerics::divide(logit - max, temperature);
    return scaled + gumbel(numerics::uniform_open(word));
  }

  /// By how much logits would have to change, one against another, for `second` to be picked, the
  /// best of the others. At temperature 0 its score is its logit.
  FORGE_HOST_DEVICE float margin(float logit, std::uint32_t picked, const BestToken& second) const {
    const float largest = numerics::float_of(0x7f7fffffu);
    if (second.token == picked) return largest;  // there is no other
    const float distance = temperature == 0.0F
                               ? logit - second.score
                               : (score(logit, picked) - second.score) * temperature;
    return distance < largest ? distance : largest;
  }

  /// Whether one of the tokens first .. first + 3, none of whose logits is above `logit`, could
  /// have a score of `least` or more.
  FORGE_HOST_DEVICE bool could_reach(float least, float logit, std::uint32_t first) const {
    const float scaled = numerics::divide(logit - max, temperature);
    if (scaled + kGumbelMax < least) return false;
    const numerics::Words4 words = random_words(seed, position, first / kNoiseGroup, kGumbelStream);
    bool could = false;
    for (const std::uint32_t word : words.x) {
      could |= scaled + gumbel_bound(numerics::uniform_open(word)) >= least;
    }
    return could;
  }

  /// Offers the tokens first .. first + 3. `first` is a multiple of kNoiseGroup; places beyond the
  /// vocabulary hold -inf. Requires: best.score is finite.
  FORGE_HOST_DEVICE void offer(const float (&logits)[kNoiseGroup], std::uint32_t first,
                               BestToken& best) const {
    float scaled[kNoiseGroup];
    bool in_reach = false;
    for (int i = 0; i < kNoiseGroup; ++i) {
      scaled[i] = numerics::divide(logits[i] - max, temperature);
      in_reach |= scaled[i] + kGumbelMax >= best.score;
    }
    if (!in_reach) return;
    const numerics::Words4 words = random_words(seed, position, first / kNoiseGroup, kGumbelStream);
    for (int i = 0; i < kNoiseGroup; ++i) {
      const float u = numerics::uniform_open(words.x[i]);
      if (scaled[i] + gumbel_bound(u) < best.score) continue;
      best.offer(scaled[i] + gumbel(u), first + static_cast<std::uint32_t>(i));
    }
  }
};

}  // namespace forge::sampling
