#include "forge/sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "forge/numerics/canonical.h"
#include "forge/numerics/philox.h"
#include "forge/sampling/gumbel.h"

namespace forge::sampling {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

SamplingParams warm(std::uint64_t seed, float temperature = 1.0F) { return {temperature, seed}; }

/// Logits of a vocabulary of 320 in a plausible range, from Philox.
std::vector<float> some_logits(std::uint64_t seed, std::size_t size = 320) {
  std::vector<float> logits(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    logits[i] = 8.0F * numerics::uniform_open(numerics::philox({{i, 0, 0, 99}}, seed).x[0]);
  }
  return logits;
}

TEST(CanPick, from_any_row_with_a_finite_logit_and_none_that_is_nan_or_infinite) {
  EXPECT_TRUE(can_pick(some_logits(1)));
  for (const std::size_t size : {1u, 2u, 7u, 64u, 321u}) {
    for (std::size_t at = 0; at < size; ++at) {
      for (const float bad : {kInfinity, NAN, -NAN}) {
        std::vector<float> logits = some_logits(2, size);
        logits[at] = bad;
        EXPECT_FALSE(can_pick(logits)) << bad << " at " << at << " of " << size;
      }
      std::vector<float> ruled_out(size, -kInfinity);
      EXPECT_FALSE(can_pick(ruled_out));
      ruled_out[at] = std::numeric_limits<float>::lowest();
      EXPECT_TRUE(can_pick(ruled_out));
    }
  }
}

/// The definition in the header, one token at a time.
TokenId pick_by_definition(const std::vector<float>& logits, const SamplingParams& params,
                           std::uint64_t position) {
  const float max = *std::max_element(logits.begin(), logits.end());
  std::vector<float> score;
  for (std::uint32_t t = 0; t < logits.size(); ++t) {
    const numerics::Words4 words =
        numerics::philox({{static_cast<std::uint32_t>(position),
                           static_cast<std::uint32_t>(position >> 32), t / 4, 0}},
                         params.seed);
    const float u = numerics::uniform_open(words.x[t % 4]);
    score.push_back((logits[t] - max) / params.temperature - numerics::log(-numerics::log(u)));
  }
  return TokenId(
      static_cast<std::uint32_t>(std::max_element(score.begin(), score.end()) - score.begin()));
}

/// Pearson's statistic of observed counts against expected probabilities.
double chi_square(const std::vector<double>& observed, const std::vector<double>& expected) {
  const double n = std::accumulate(observed.begin(), observed.end(), 0.0);
  double sum = 0;
  for (std::size_t i = 0; i < observed.size(); ++i) {
    const double difference = observed[i] - n * expected[i];
    sum += difference * difference / (n * expected[i]);
  }
  return sum;
}

TEST(Sampler, temperature_zero_is_the_argmax_and_ties_go_to_the_lower_token) {
  EXPECT_EQ(pick(std::vector{1.0F, 3.0F, 2.0F, 3.0F}, {}, 5), TokenId(1));
  EXPECT_EQ(pick(std::vector{-0.0F, 0.0F}, {}, 5), TokenId(0));
}

TEST(Sampler, a_pick_is_the_argmax_of_scaled_logits_plus_the_noise_of_seed_position_and_token) {
  for (const std::size_t size : {1U, 3U, 63U, 64U, 65U, 320U}) {
    const auto logits = some_logits(size, size);
    for (std::uint64_t position = 0; position < 300; ++position) {
      for (const float temperature : {0.1F, 0.8F, 3.0F}) {
        const auto params = warm(17, temperature);
        ASSERT_EQ(pick(logits, params, position), pick_by_definition(logits, params, position));
      }
    }
  }
}

TEST(Sampler, skipping_tokens_that_cannot_win_never_changes_a_pick) {
  // Flat logits are the hard case (every token is in reach), steep ones skip most of the work.
  for (const float spread : {0.0F, 0.01F, 1.0F, 10.0F, 1e4F}) {
    auto logits = some_logits(8);
    for (float& x : logits) x *= spread;
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
      ASSERT_EQ(pick(logits, warm(seed), seed), pick_by_definition(logits, warm(seed), seed));
    }
  }
}

TEST(Sampler, positions_above_32_bits_have_noise_of_their_own) {
  const std::vector<float> logits(320, 0.0F);
  EXPECT_EQ(pick(logits, warm(1), (1ULL << 32) + 7),
            pick_by_definition(logits, warm(1), (1ULL << 32) + 7));
  EXPECT_NE(pick(logits, warm(1), (1ULL << 32) + 7), pick(logits, warm(1), 7));
}

TEST(Sampler, picks_follow_the_softmax_of_the_logits) {
  const std::vector<float> logits{0.0F, 1.0F, -1.0F, 2.0F, 0.5F, 1.5F, -0.5F, 0.25F};
  for (const float temperature : {0.5F, 1.0F, 2.0F}) {
    std::vector<double> expected(logits.size());
    probabilities(logits, temperature, expected);
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      std::vector<double> observed(logits.size());
      for (std::uint64_t position = 0; position < 20000; ++position) {
        ++observed[pick(logits, warm(seed, temperature), position).value];
      }
      EXPECT_LT(chi_square(observed, expected), 29.88);  // 7 degrees of freedom, p = 1e-4
    }
  }
}

TEST(Sampler, picks_of_neighbouring_positions_are_independent) {
  const std::vector<float> logits(4, 0.0F);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    std::vector<double> pairs(16);
    for (std::uint64_t position = 0; position < 20000; position += 2) {
      const auto first = pick(logits, warm(seed), position).value;
      ++pairs[4 * first + pick(logits, warm(seed), position + 1).value];
    }
    EXPECT_LT(chi_square(pairs, std::vector<double>(16, 1.0 / 16)), 44.26);  // 15, p = 1e-4
  }
}

TEST(Sampler, picks_of_neighbouring_seeds_are_independent) {
  const std::vector<float> logits(4, 0.0F);
  std::vector<double> pairs(16);
  for (std::uint64_t seed = 0; seed < 20000; seed += 2) {
    ++pairs[4 * pick(logits, warm(seed), 3).value + pick(logits, warm(seed + 1), 3).value];
  }
  EXPECT_LT(chi_square(pairs, std::vector<double>(16, 1.0 / 16)), 44.26);
}

TEST(Sampler, a_masked_token_is_never_picked) {
  const std::vector<float> logits{-kInfinity, 0.0F, -kInfinity};
  for (std::uint64_t position = 0; position < 1000; ++position) {
    ASSERT_EQ(pick(logits, warm(1, 5.0F), position), TokenId(1));
  }
}

TEST(Sampler, a_temperature_near_zero_is_greedy) {
  const auto logits = some_logits(3);
  for (const float temperature : {1e-3F, 1e-38F, 1e-45F}) {
    EXPECT_EQ(pick(logits, warm(1, temperature), 9), pick(logits, {}, 9));
  }
}

TEST(Sampler, similar_logits_under_shared_noise_pick_the_same_token_more_often_than_not) {
  const auto target = some_logits(3);
  auto draft = target;
  for (std::size_t i = 0; i < draft.size(); i += 2) draft[i] += 0.1F;
  int same = 0;
  for (std::uint64_t position = 0; position < 1000; ++position) {
    same += pick(target, warm(2), position) == pick(draft, warm(2), position) ? 1 : 0;
  }
  EXPECT_GT(same, 900);  // the overlap of the two distributions is 0.975
}

TEST(LogSoftmax, is_that_of_double_precision_within_its_bound) {
  for (const std::size_t size : {1U, 2U, 255U, 256U, 257U, 5000U}) {
    for (const float spread : {0.01F, 1.0F, 5.0F}) {
      auto logits = some_logits(size, size);
      for (float& x : logits) x *= spread;
      double total = 0;
      for (const float x : logits) total += std::exp(static_cast<double>(x));
      const LogSoftmax softmax = log_softmax(logits);
      for (const float x : logits) {
        const double exact = static_cast<double>(x) - std::log(total);
        // The difference to max is rounded once, in each weight, too; a weight loses an ulp, and
        // 2^-40 by the cut; the sum, its logarithm and the last difference are rounded.
        const double difference = static_cast<double>(softmax.max) - static_cast<double>(x);
        const double rounding = 0x1p-24 * (2 * 40 + difference + 4 * std::abs(exact) + 8);
        ASSERT_NEAR(softmax(x), exact, rounding + static_cast<double>(size) * 0x1p-40);
      }
    }
  }
}

TEST(LogSoftmax, of_a_token_that_is_ruled_out_is_the_lowest_float) {
  const std::vector<float> logits{0.0F, -kInfinity, 1.0F};
  EXPECT_EQ(log_softmax(logits)(logits[1]), std::numeric_limits<float>::lowest());
}

TEST(Likely, are_the_first_of_all_tokens_by_logit_and_then_by_number) {
  for (const std::size_t size : {1U, 5U, 320U}) {
    auto logits = some_logits(size + 7, size);
    for (std::size_t i = 0; i < size; i += 3) logits[i] = logits[0];  // ties
    if (size > 4) logits[4] = -kInfinity;
    std::vector<std::uint32_t> order(size);
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return logits[a] > logits[b]; });
    if (size > 4) order.pop_back();
    const LogSoftmax softmax = log_softmax(logits);
    for (const std::uint32_t count : {0U, 1U, 4U, 20U}) {
      std::vector<TokenLogprob> likely{{TokenId(999), 5.0F}};  // of another row
      append_likely(logits, count, softmax, likely);
      ASSERT_EQ(likely.size(), 1 + std::min<std::size_t>(count, order.size()));
      EXPECT_EQ(likely[0], (TokenLogprob{TokenId(999), 5.0F}));
      for (std::size_t i = 1; i < likely.size(); ++i) {
        EXPECT_EQ(likely[i], (TokenLogprob{TokenId(order[i - 1]), softmax(logits[order[i - 1]])}));
      }
    }
  }
}

TEST(Margin, is_what_the_picked_token_has_over_the_next) {
  for (const float temperature : {0.0F, 0.3F, 1.0F, 3.0F}) {
    for (const std::size_t size : {2U, 5U, 63U, 320U}) {
      const auto logits = some_logits(size, size);
      for (std::uint64_t position = 0; position < 50; ++position) {
        const SamplingParams params{temperature, 3};
        const TokenId picked = pick(logits, params, position);
        auto others = logits;
        others[picked.value] = -kInfinity;
        const float max = *std::max_element(logits.begin(), logits.end());
        const GumbelDraw draw{params.seed, position, temperature, max};
        float second = -kInfinity;
        for (std::uint32_t t = 0; t < size; ++t) {
          if (t == picked.value) continue;
          second = std::max(second, temperature == 0 ? logits[t] : draw.score(logits[t], t));
        }
        const float best = temperature == 0 ? logits[picked.value]
                                            : draw.score(logits[picked.value], picked.value);
        const float expected = (best - second) * (temperature == 0 ? 1 : temperature);
        ASSERT_EQ(margin(logits, params, position, picked), expected);
        ASSERT_GE(expected, 0);
      }
    }
  }
}

/// Of all scores of four tokens, and such as lie just above and below them.
TEST(GumbelDraws, of_tokens_that_could_not_reach_a_score_none_does) {
  int ruled_out = 0;
  for (const float temperature : {0.01F, 0.7F, 1.0F, 50.0F}) {
    for (std::uint64_t position = 0; position < 200; ++position) {
      const GumbelDraw draw{position % 7, position, temperature, 2.0F};
      const auto first = static_cast<std::uint32_t>(position * 4);
      for (const float logit : {2.0F, 1.999F, 1.0F, -3.0F, -kInfinity}) {
        for (std::uint32_t token = first; token < first + 4; ++token) {
          EXPECT_TRUE(draw.could_reach(draw.score(logit, token), logit, first));
          EXPECT_TRUE(draw.could_reach(draw.score(logit - 0.5F, token), logit, first));
        }
        for (const float least : {-1.0F, 0.0F, 2.0F, 20.0F}) {
          if (draw.could_reach(least, logit, first)) continue;
          ++ruled_out;
          for (std::uint32_t token = first; token < first + 4; ++token) {
            EXPECT_LT(draw.score(logit, token), least);
          }
        }
      }
    }
  }
  EXPECT_GT(ruled_out, 1000);
}

TEST(Margin, over_nobody_is_the_largest_float) {
  const std::vector<float> logits{-kInfinity, 2.0F, -kInfinity};
  for (const float temperature : {0.0F, 1.0F}) {
    EXPECT_EQ(margin(logits, {temperature, 1}, 4, TokenId(1)), std::numeric_limits<float>::max());
  }
}

TEST(Probabilities, are_the_softmax_within_float_rounding) {
  const auto logits = some_logits(4);
  std::vector<double> p(logits.size());
  probabilities(logits, 0.7F, p);
  double total = 0;
  for (const float x : logits) total += std::exp(static_cast<double>(x) / 0.7F);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double exact = std::exp(static_cast<double>(logits[i]) / 0.7F) / total;
    // The exponent, at most 8 / 0.7, is rounded twice: half an ulp of 8, divided, plus half
    // an ulp of 16; exp adds one ulp of its result. The sum averages such errors.
    EXPECT_NEAR(p[i], exact, exact * 2 * (0x1p-21 / 0.7 + 0x1p-20 + 0x1p-23));
  }
  EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1.0, 320 * 0x1p-52);
}

TEST(Probabilities, are_one_hot_at_temperature_zero) {
  std::vector<double> p(3);
  probabilities(std::vector{1.0F, 2.0F, 2.0F}, 0.0F, p);
  EXPECT_EQ(p, (std::vector{0.0, 1.0, 0.0}));
}

TEST(Uniform, depends_on_seed_position_and_stream) {
  const double u = uniform(1, 2, DrawStream::draft);
  EXPECT_EQ(u, uniform(1, 2, DrawStream::draft));
  EXPECT_NE(u, uniform(2, 2, DrawStream::draft));
  EXPECT_NE(u, uniform(1, 3, DrawStream::draft));
  EXPECT_NE(u, uniform(1, 2, DrawStream::accept));
  EXPECT_NE(u, uniform(1, 2, DrawStream::own));
}

TEST(Uniform, is_uniform_in_the_open_unit_interval) {
  std::vector<double> tenths(10);
  for (std::uint64_t position = 0; position < 20000; ++position) {
    const double u = uniform(5, position, DrawStream::own);
    ASSERT_GT(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++tenths[static_cast<std::size_t>(u * 10)];
  }
  EXPECT_LT(chi_square(tenths, std::vector<double>(10, 0.1)), 33.72);  // 9, p = 1e-4
}

}  // namespace
}  // namespace forge::sampling
