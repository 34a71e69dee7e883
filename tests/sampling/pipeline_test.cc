#include "forge/sampling/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "forge/numerics/canonical.h"
#include "forge/numerics/philox.h"
#include "forge/sampling/sampler.h"

namespace forge::sampling {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

/// Numbers in (-range, range), from Philox.
std::vector<float> spread_logits(std::uint64_t seed, std::size_t size, float range = 8.0F) {
  std::vector<float> logits(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    const float u = numerics::uniform_open(numerics::philox({{i, 0, 0, 98}}, seed).x[0]);
    logits[i] = range * (2 * u - 1);
  }
  return logits;
}

std::vector<float> processed(const std::vector<float>& logits, const SamplingParams& params,
                             const std::vector<TokenId>& prompt = {},
                             const std::vector<TokenId>& output = {},
                             const std::vector<TokenId>& drafts = {}) {
  Adjustments said(params, prompt);
  for (const TokenId token : output) said.add(token);
  Pipeline pipeline;
  const auto row = pipeline.process(logits, params, said, drafts);
  return {row.begin(), row.end()};
}

std::vector<std::uint32_t> kept(const std::vector<float>& row) {
  std::vector<std::uint32_t> tokens;
  for (std::uint32_t t = 0; t < row.size(); ++t) {
    if (row[t] != kNever) tokens.push_back(t);
  }
  return tokens;
}

using Tokens = std::vector<TokenId>;

// ---- The mask -----------------------------------------------------------------------------------

TEST(Pipeline, a_mask_rules_out_what_it_lacks_and_hides_nothing_that_is_wrong) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> logits = spread_logits(3, 70);
  logits[5] = -kNever;
  logits[6] = kNan;
  std::vector<std::uint32_t> mask(3);
  for (const std::uint32_t token : {0U, 31U, 32U, 69U}) mask[token / 32] |= 1U << token % 32;
  Pipeline pipeline;
  const auto row = pipeline.process(logits, {}, {}, {}, mask);
  EXPECT_EQ(kept({row.begin(), row.end()}), (std::vector<std::uint32_t>{0, 5, 6, 31, 32, 69}));
  EXPECT_EQ(row[69], logits[69]);
  EXPECT_FALSE(can_pick(row));
}

TEST(Pipeline, masks_before_it_counts_the_most_likely) {
  const std::vector<float> logits{5, 4, 3, 2, 1};
  const std::vector<std::uint32_t> mask{0b11010};
  Pipeline pipeline;
  // Bias and penalties are there already: they make the last token the best that is allowed.
  const SamplingParams params{
      .temperature = 1.0F, .logit_bias = {{TokenId(4), 4.5F}}, .top_k = 2, .top_p = 0.99F};
  const auto row = pipeline.process(logits, params, Adjustments(params, {}), {}, mask);
  EXPECT_EQ(kept({row.begin(), row.end()}), (std::vector<std::uint32_t>{1, 4}));
}

// ---- Bias and penalties -------------------------------------------------------------------------

struct AdjustmentCase {
  const char* name;
  float logit;
  Adjustment by;
  Penalties penalties;
  float expected;
};

TEST(Adjusted, does_the_steps_in_their_order) {
  const AdjustmentCase cases[] = {
      {"nothing", 3, {.in_output = 2, .in_prompt = 1}, {}, 3},
      {"bias", 3, {.bias = -1.5F}, {}, 1.5F},
      {"repetition of what is likely", 3, {.in_output = 1}, {.repetition = 2}, 1.5F},
      {"repetition of what is not", -3, {.in_output = 1}, {.repetition = 2}, -6},
      {"repetition counts the prompt", 3, {.in_prompt = 1}, {.repetition = 2}, 1.5F},
      {"repetition of what was not said", 3, {.bias = 1}, {.repetition = 2}, 4},
      {"presence", 3, {.in_output = 5}, {.presence = 0.5F}, 2.5F},
      {"presence does not count the prompt", 3, {.in_prompt = 1}, {.presence = 0.5F}, 3},
      {"frequency", 3, {.in_output = 5}, {.frequency = 0.5F}, 0.5F},
      {"below zero rewards", 3, {.in_output = 2}, {.presence = -1, .frequency = -0.5F}, 5},
      {"bias comes before repetition",
       -1,
       {.bias = 5, .in_output = 1},
       {.repetition = 2, .presence = 0.25F, .frequency = 0.5F},
       1.25F},
  };
  for (const AdjustmentCase& c : cases) {
    EXPECT_EQ(adjusted(c.logit, c.by, c.penalties), c.expected) << c.name;
  }
}

TEST(Adjusted, hides_no_logit_that_is_not_finite) {
  const Adjustment by{.bias = -100, .in_output = 3, .in_prompt = 1};
  const Penalties penalties{.repetition = 16, .presence = 2, .frequency = 2};
  EXPECT_TRUE(std::isnan(adjusted(NAN, by, penalties)));
  EXPECT_EQ(adjusted(-kNever, by, penalties), -kNever);
  EXPECT_EQ(adjusted(kNever, by, penalties), kNever);
}

TEST(Adjustments, are_sorted_and_count_what_was_said) {
  SamplingParams params{.logit_bias = {{TokenId(4), 1.0F}, {TokenId(9), -2.0F}},
                        .repetition_penalty = 1.5F};
  Adjustments said(params, Tokens{TokenId(7), TokenId(2), TokenId(7), TokenId(4)});
  said.add(TokenId(9));
  said.add(TokenId(3));
  said.add(TokenId(9));
  const std::vector<Adjustment> expected{{.token = 2, .in_prompt = 1},
                                         {.token = 3, .in_output = 1},
                                         {.token = 4, .bias = 1.0F, .in_prompt = 1},
                                         {.token = 7, .in_prompt = 1},
                                         {.token = 9, .bias = -2.0F, .in_output = 2}};
  EXPECT_EQ(std::vector(said.list().begin(), said.list().end()), expected);
}

TEST(Adjustments, of_a_request_that_adjusts_nothing_stay_empty) {
  Adjustments said({.temperature = 1, .top_k = 5}, Tokens{TokenId(1)});
  said.add(TokenId(2));
  EXPECT_TRUE(said.list().empty());
}

TEST(Adjustments, of_biases_alone_count_nothing) {
  Adjustments said({.logit_bias = {{TokenId(4), 1.0F}}}, Tokens{TokenId(4)});
  said.add(TokenId(2));
  said.add(TokenId(4));
  ASSERT_EQ(said.list().size(), 1U);
  EXPECT_EQ(said.list()[0], (Adjustment{.token = 4, .bias = 1.0F}));
}

TEST(Pipeline, a_draft_counts_as_said) {
  const SamplingParams params{.repetition_penalty = 2, .frequency_penalty = 0.25F};
  const auto logits = spread_logits(1, 20);
  const Tokens prompt{TokenId(3)};
  const Tokens drafts{TokenId(5), TokenId(3), TokenId(5)};
  EXPECT_EQ(processed(logits, params, prompt, {}, drafts),
            processed(logits, params, prompt, drafts));
  EXPECT_NE(processed(logits, params, prompt, {}, drafts), processed(logits, params, prompt));
}

TEST(Pipeline, tokens_beyond_the_vocabulary_change_nothing) {
  const SamplingParams params{.logit_bias = {{TokenId(1000), 5.0F}}, .presence_penalty = 1};
  const auto logits = spread_logits(1, 20);
  EXPECT_EQ(processed(logits, params, {}, {TokenId(20)}, {TokenId(4'000'000'000)}), logits);
}

TEST(Pipeline, does_nothing_and_copies_nothing_unless_it_is_asked) {
  const auto logits = spread_logits(1, 20);
  Pipeline pipeline;
  for (const SamplingParams& params :
       {SamplingParams{}, SamplingParams{.temperature = 0.7F, .seed = 3},
        SamplingParams{.top_k = 1, .top_p = 0.1F, .min_p = 0.9F}}) {  // greedy anyway
    EXPECT_FALSE(processes(params));
    EXPECT_EQ(pipeline.process(logits, params, {}, {}).data(), logits.data());
  }
}

// ---- Top-k, top-p, min-p ------------------------------------------------------------------------

/// The definition in filter.h, by sorting.
std::vector<std::uint32_t> kept_by_definition(const std::vector<float>& logits,
                                              const Filter& filter) {
  const float max = *std::ranges::max_element(logits);
  std::multimap<std::uint32_t, std::uint32_t> by_depth;
  for (std::uint32_t t = 0; t < logits.size(); ++t) {
    const std::uint32_t depth = depth_of(logits[t], max, filter.temperature);
    if (depth < kDepthNever) by_depth.emplace(depth, t);
  }
  const auto down_to = [&](auto enough) {  // whole groups of equal depth until it is enough
    std::uint64_t count = 0;
    std::uint64_t mass = 0;
    for (auto i = by_depth.begin(); i != by_depth.end();) {
      const auto end = by_depth.upper_bound(i->first);
      for (; i != end; ++i) {
        ++count;
        mass += mass_at(i->first);
      }
      if (!enough(count, mass)) continue;
      by_depth.erase(end, by_depth.end());
      break;
    }
    return mass;
  };
  if (filter.top_k > 0) down_to([&](auto count, auto) { return count >= filter.top_k; });
  if (filter.top_p < 1) {
    const std::uint64_t wanted =
        mass_wanted(filter.top_p, down_to([](auto, auto) { return false; }));
    down_to([&](auto, auto mass) { return mass >= wanted; });
  }
  std::vector<std::uint32_t> tokens;
  for (const auto& [depth, token] : by_depth) {
    if (weight_at(depth) >= filter.min_p) tokens.push_back(token);
  }
  std::ranges::sort(tokens);
  return tokens;
}

SamplingParams params_of(const Filter& filter) {
  return {.temperature = filter.temperature,
          .top_k = filter.top_k,
          .top_p = filter.top_p,
          .min_p = filter.min_p};
}

TEST(Pipeline, keeps_what_the_definition_keeps) {
  for (const std::size_t size : {1U, 2U, 7U, 320U, 1000U}) {
    for (const float range : {0.0F, 0.5F, 4.0F, 40.0F, 1e6F}) {
      std::vector<float> logits = spread_logits(size, size, range);
      if (size > 100) std::ranges::fill(std::span(logits).subspan(10, 40), kNever);
      if (size > 100) std::ranges::fill(std::span(logits).subspan(60, 20), logits[0]);
      for (const float temperature : {0.01F, 0.7F, 5.0F}) {
        for (const std::uint32_t top_k : {0U, 1U, 3U, 50U, 5000U}) {
          for (const float top_p : {0.0F, 0.1F, 0.5F, 0.9F, 0.9999F, 1.0F}) {
            for (const float min_p : {0.0F, 0.05F, 1.0F}) {
              const Filter filter{temperature, top_k, top_p, min_p};
              ASSERT_EQ(kept(processed(logits, params_of(filter))),
                        filter.any() ? kept_by_definition(logits, filter) : kept(logits))
                  << size << " " << range << " T=" << temperature << " k=" << top_k
                  << " p=" << top_p << " min=" << min_p;
            }
          }
        }
      }
    }
  }
}

TEST(Pipeline, the_logits_of_what_stays_are_untouched) {
  const auto logits = spread_logits(2, 300);
  const auto row = processed(logits, {.temperature = 0.5F, .top_k = 20});
  for (const std::uint32_t token : kept(row)) EXPECT_EQ(row[token], logits[token]);
  EXPECT_EQ(kept(row).size(), 20U);
}

TEST(Pipeline, the_example_of_the_header) {
  std::vector<float> logits;
  for (const double p : {.6, .2, .1, .05, .03, .02}) {
    logits.push_back(static_cast<float>(std::log(p)));
  }
  using Kept = std::vector<std::uint32_t>;
  EXPECT_EQ(kept(processed(logits, {.temperature = 1, .top_k = 4})), (Kept{0, 1, 2, 3}));
  EXPECT_EQ(kept(processed(logits, {.temperature = 1, .top_k = 4, .top_p = 0.85F})),
            (Kept{0, 1, 2}));
  EXPECT_EQ(kept(processed(logits, {.temperature = 1, .min_p = 0.2F})), (Kept{0, 1}));
}

TEST(Pipeline, tokens_that_are_equally_likely_all_stay) {
  const std::vector<float> logits{1, 3, 2, 3, 2, 2, 0};
  using Kept = std::vector<std::uint32_t>;
  EXPECT_EQ(kept(processed(logits, {.temperature = 1, .top_k = 1})), (Kept{1, 3}));
  EXPECT_EQ(kept(processed(logits, {.temperature = 1, .top_k = 3})), (Kept{1, 2, 3, 4, 5}));
  EXPECT_EQ(kept(processed(logits, {.temperature = 1, .top_p = 0.0F})), (Kept{1, 3}));
}

TEST(Pipeline, a_row_that_nothing_can_be_picked_from_stays_one) {
  for (const float bad : {NAN, -kNever}) {
    std::vector<float> logits = spread_logits(3, 50);
    logits[30] = bad;
    const SamplingParams params{.temperature = 1,
                                .logit_bias = {{TokenId(30), -100.0F}},
                                .repetition_penalty = 1.1F,
                                .top_k = 5,
                                .top_p = 0.5F,
                                .min_p = 0.1F};
    EXPECT_FALSE(can_pick(processed(logits, params, {TokenId(30)}, {TokenId(30)})));
  }
  const std::vector<float> none(50, kNever);
  EXPECT_FALSE(can_pick(processed(none, {.temperature = 1, .top_k = 5})));
}

/// In double precision, and how far this can be from the pipeline. A weight exp(s) has the error of
/// s, which is rounded twice (2^-24 of it each), of the exponential (0.8 ulp, below 2^-23) and of
/// the cut (2^-40); the limit p * total is rounded twice. Tokens whose s differ by no more than its
/// errors may count as equal.
class InDouble {
 public:
  InDouble(const std::vector<float>& logits, double temperature) {
    const double max = *std::ranges::max_element(logits);
    for (const float logit : logits) s_.push_back((logit - max) / temperature);
    for (const double s : s_) total_ += std::exp(s);
  }

  /// Whether top-p keeps a token for sure, or not for sure; neither where it is too close to tell.
  bool is_kept(std::size_t token, double p) const {
    return mass_above(token, -kSlack) + error() < p * total_;
  }
  bool is_ruled_out(std::size_t token, double p) const {
    return mass_above(token, kSlack) - error() >= p * total_;
  }

 private:
  static constexpr double kSlack = 2 * 0x1p-23;

  /// The mass of the tokens whose s is above that of `token` by at least slack times either; with a
  /// negative slack also of those below it by less.
  double mass_above(std::size_t token, double slack) const {
    double mass = 0;
    for (std::size_t t = 0; t < s_.size(); ++t) {
      const double margin = slack * std::max(std::abs(s_[t]), std::abs(s_[token]));
      const bool counts =
          slack < 0 ? s_[t] > s_[token] + margin && t != token : s_[t] > s_[token] + margin;
      if (counts) mass += std::exp(s_[t]);
    }
    return mass;
  }
  double error() const {
    double sum = 0;
    for (const double s : s_) sum += std::exp(s) * (std::abs(s) * 0x1p-23 + 0x1p-23) + 0x1p-40;
    return 2 * sum + total_ * 0x1p-22;
  }

  std::vector<double> s_;
  double total_ = 0;
};

TEST(Pipeline, top_p_agrees_with_double_precision_where_the_mass_is_not_at_the_limit) {
  std::size_t close = 0;
  std::size_t tokens = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    for (const float temperature : {0.3F, 1.0F, 2.5F}) {
      const auto logits = spread_logits(seed, 700, 6.0F);
      const InDouble exact(logits, static_cast<double>(temperature));
      for (const float p : {0.05F, 0.5F, 0.9F, 0.99F}) {
        const auto row = processed(logits, {.temperature = temperature, .top_p = p});
        for (std::size_t t = 0; t < row.size(); ++t) {
          const bool sure = exact.is_kept(t, static_cast<double>(p));
          const bool out = exact.is_ruled_out(t, static_cast<double>(p));
          ASSERT_FALSE(sure && out);
          ASSERT_FALSE(sure && row[t] == kNever);
          ASSERT_FALSE(out && row[t] != kNever);
          ++tokens;
          if (!sure && !out) ++close;
        }
      }
    }
  }
  EXPECT_LT(close, tokens / 1000);  // the bound is tight enough to say something
}

TEST(Pipeline, picks_follow_what_is_left_of_the_distribution) {
  const std::vector<float> logits{0.0F, 1.0F, -1.0F, 2.0F, 0.5F, 1.5F, -0.5F, 0.25F};
  const SamplingParams params{.temperature = 1, .seed = 5, .top_k = 4};
  const auto row = processed(logits, params);  // keeps 3, 5, 1, 4
  std::vector<double> expected(row.size());
  probabilities(row, params.temperature, expected);
  std::vector<double> observed(row.size());
  constexpr int kDraws = 20000;
  for (std::uint64_t position = 0; position < kDraws; ++position) {
    ++observed[pick(row, params, position).value];
  }
  double chi_square = 0;
  for (std::size_t t = 0; t < row.size(); ++t) {
    if (row[t] == kNever) {
      EXPECT_EQ(observed[t], 0);
      continue;
    }
    const double difference = observed[t] - kDraws * expected[t];
    chi_square += difference * difference / (kDraws * expected[t]);
  }
  EXPECT_LT(chi_square, 21.11);  // 3 degrees of freedom, p = 1e-4
}

}  // namespace
}  // namespace forge::sampling
