#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "cpu/driver.h"
#include "forge/sampling/sampler.h"

namespace forge {
namespace {

using testing::Driver;
using testing::Output;
using testing::request_of;

constexpr std::size_t kTokens = 60;

ExecutorOptions options_of(std::uint32_t drafts,
                           AcceptanceRule rule = AcceptanceRule::shared_noise) {
  return {.num_blocks = 64, .block_size = 4, .drafts = drafts, .rule = rule, .digest_logits = true};
}

Output decode(const Request& request, const ExecutorOptions& options) {
  Driver driver(options);
  driver.begin(1, request);
  driver.decode_to(1, kTokens, options.drafts);
  return driver.result(1);
}

TEST(Speculation, shared_noise_gives_the_same_tokens_and_logits_for_any_draft) {
  for (const float temperature : {0.0F, 0.8F, 1.5F}) {
    const Request request = request_of("The quick brown fox", temperature, 5);
    const Output plain = decode(request, options_of(0));
    ASSERT_EQ(plain.tokens.size(), kTokens);
    for (const std::uint32_t k : {1U, 2U, 4U, 8U}) {
      for (const int layers : {1, 2, 3, 4}) {
        ExecutorOptions options = options_of(k);
        options.draft_layers = layers;
        EXPECT_EQ(decode(request, options), plain)
            << "temperature " << temperature << " drafts " << k << " layers " << layers;
      }
    }
  }
}

TEST(Speculation, greedy_output_is_the_same_under_the_rejection_rule) {
  const Request request = request_of("The quick brown fox");
  const Output plain = decode(request, options_of(0));
  EXPECT_EQ(decode(request, options_of(4, AcceptanceRule::rejection)), plain);
}

TEST(Speculation, a_batch_with_different_numbers_of_drafts_changes_nothing) {
  const std::vector<Request> requests = {request_of("Hello", 0.8F, 1), request_of("abc"),
                                         request_of("In the beginning", 1.0F, 3)};
  Driver driver(options_of(5));
  std::vector<Slice> slices;
  for (std::uint64_t i = 0; i < 3; ++i) {
    driver.begin(i + 1, requests[i]);
    slices.push_back(driver.decode(i + 1));
  }
  driver.step(slices);
  for (std::uint32_t step = 0; step < 12; ++step) {
    slices.clear();
    for (std::uint64_t i = 0; i < 3; ++i) {
      slices.push_back(driver.decode(i + 1, (step + static_cast<std::uint32_t>(i) * 2) % 6));
    }
    driver.step(slices);
  }
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Output plain = decode(requests[i], options_of(0));
    const std::size_t count = std::min(plain.tokens.size(), driver.output(i + 1).size());
    ASSERT_GE(count, 13U);
    for (std::size_t t = 0; t < count; ++t) {
      ASSERT_EQ(driver.output(i + 1)[t], plain.tokens[t]) << "request " << i << " token " << t;
      ASSERT_EQ(driver.digests(i + 1)[t], plain.digests[t]) << "request " << i << " token " << t;
    }
  }
}

TEST(Speculation, a_preemption_between_rounds_changes_nothing) {
  const Request request = request_of("The quick brown fox", 0.8F, 5);
  Driver driver(options_of(4));
  driver.begin(1, request);
  for (const std::size_t count : {7U, 21U, 22U}) {
    driver.decode_to(1, count, 4);
    driver.preempt(1);
  }
  driver.decode_to(1, kTokens, 4);
  EXPECT_EQ(driver.result(1), decode(request, options_of(0)));
}

TEST(Speculation, eos_inside_a_run_of_drafts_ends_the_sequence_and_drops_the_rest) {
  // Draft and target are one model, so every draft is accepted and eos is met as a draft.
  ExecutorOptions options = options_of(8);
  options.draft_layers = options.model.layers;
  Request request = request_of("Hello", 1.0F, 3);
  for (const AcceptanceRule rule : {AcceptanceRule::shared_noise, AcceptanceRule::rejection}) {
    options.rule = rule;
    if (rule == AcceptanceRule::rejection) request.sampling.temperature = 0;
    const Output unending = decode(request, options_of(0));
    for (const std::size_t index : {3U, 10U, 20U}) {
      options.eos = unending.tokens[index];
      request.ignore_eos = false;
      Driver driver(options);
      driver.begin(1, request);
      driver.decode_to(1, kTokens, 8);
      const auto first = std::find(unending.tokens.begin(), unending.tokens.end(), options.eos);
      EXPECT_TRUE(driver.ended(1));
      EXPECT_EQ(driver.output(1), std::vector<TokenId>(unending.tokens.begin(), first + 1));
      request.ignore_eos = true;
    }
  }
}

TEST(Speculation, the_wish_for_drafts_is_the_option_until_the_end) {
  Driver driver(options_of(3));
  Request request = request_of("Hello");
  driver.begin(1, request);
  EXPECT_EQ(driver.step({driver.decode(1)}).slices[0].drafts, 3U);
}

TEST(Speculation, a_target_that_drafts_for_itself_is_accepted_whole) {
  for (const AcceptanceRule rule : {AcceptanceRule::shared_noise, AcceptanceRule::rejection}) {
    ExecutorOptions options = options_of(4, rule);
    options.draft_layers = options.model.layers;
    Driver driver(options);
    driver.begin(1, request_of("Hello", 0.9F, 2));
    driver.decode_to(1, 51, 4);
    EXPECT_EQ(driver.executor().speculation(), (SpeculationStatistics{10, 40, 40, 50}));
  }
}

TEST(Speculation, the_rejection_rule_has_the_targets_distribution) {
  // The first token of many seeds, once sampled plainly (Gumbel noise) and once through a draft:
  // two samples of one distribution, compared by chi-square over the tokens that are frequent.
  std::map<std::uint32_t, std::pair<double, double>> counts;
  constexpr int kSeeds = 2000;
  Driver plain(options_of(0)), speculative(options_of(1, AcceptanceRule::rejection));
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Request request = request_of("Once upon a time", 0.8F, seed);
    for (Driver* driver : {&plain, &speculative}) {
      driver->begin(seed, request);
      // The prompt's last token runs in a step of its own, with a draft behind it.
      driver->step({driver->chunk(seed, 15)});
      driver->step({driver->decode(seed, driver == &speculative ? 1 : 0)});
    }
    counts[plain.output(seed)[0].value].first += 1;
    counts[speculative.output(seed)[0].value].second += 1;
    plain.finish(seed);
    speculative.finish(seed);
  }
  EXPECT_GT(speculative.executor().speculation().accepted, kSeeds / 5);
  EXPECT_LT(speculative.executor().speculation().accepted, kSeeds);
  double chi_square = 0, rare_plain = 0, rare_speculative = 0;
  int cells = 0;
  const auto add = [&](double a, double b) {
    chi_square += (a - b) * (a - b) / (a + b);
    ++cells;
  };
  for (const auto& [token, pair] : counts) {
    if (pair.first + pair.second >= 20) {
      add(pair.first, pair.second);
    } else {
      rare_plain += pair.first;
      rare_speculative += pair.second;
    }
  }
  add(rare_plain, rare_speculative);
  const double freedom = cells - 1;
  ASSERT_GT(freedom, 3);
  // Chi-square is about normal with mean f and variance 2 f; 4 deviations. Seeds are fixed.
  EXPECT_LT(chi_square, freedom + 4 * std::sqrt(2 * freedom));
}

}  // namespace
}  // namespace forge
