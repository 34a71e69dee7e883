// Rejection sampling, which the CPU alone does: a GPU keeps no distributions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "target/driver.h"

namespace forge {
namespace {

using testing::cpu_target;
using testing::Driver;
using testing::Output;
using testing::request_of;

constexpr std::size_t kManyTokens = 60;

ExecutorOptions options_of(std::uint32_t drafts) {
  return {.num_blocks = 64,
          .block_size = 4,
          .drafts = drafts,
          .rule = AcceptanceRule::rejection,
          .digest_logits = true};
}

ExecutorOptions without_drafts() {
  ExecutorOptions options = options_of(0);
  options.rule = AcceptanceRule::shared_noise;
  return options;
}

Output decode(const Request& request, const ExecutorOptions& options) {
  Driver driver(cpu_target(), options);
  driver.begin(1, request);
  driver.decode_to(1, kManyTokens, options.drafts);
  return driver.result(1);
}

TEST(Rejection, greedy_output_is_that_without_drafts) {
  const Request request = request_of("The quick brown fox");
  EXPECT_EQ(decode(request, options_of(4)), decode(request, without_drafts()));
}

TEST(Rejection, eos_inside_a_run_of_drafts_ends_the_sequence_and_drops_the_rest) {
  // Draft and target are one model, so every draft is accepted and eos is met as a draft.
  ExecutorOptions options = options_of(8);
  options.draft_layers = options.model.layers;
  Request request = request_of("Hello");
  const Output unending = decode(request, without_drafts());
  request.ignore_eos = false;
  for (const std::size_t index : {3U, 10U, 20U}) {
    options.eos = {unending.tokens[index]};
    Driver driver(cpu_target(), options);
    driver.begin(1, request);
    driver.decode_to(1, kManyTokens, 8);
    const auto first = std::find(unending.tokens.begin(), unending.tokens.end(), options.eos[0]);
    EXPECT_TRUE(driver.ended(1));
    EXPECT_EQ(driver.output(1), std::vector<TokenId>(unending.tokens.begin(), first + 1));
  }
}

TEST(Rejection, a_target_that_drafts_for_itself_is_accepted_whole) {
  ExecutorOptions options = options_of(4);
  options.draft_layers = options.model.layers;
  Driver driver(cpu_target(), options);
  driver.begin(1, request_of("Hello", 0.9F, 2));
  driver.decode_to(1, 51, 4);
  EXPECT_EQ(driver.executor().speculation(), (SpeculationStatistics{10, 40, 40, 50}));
}

TEST(Rejection, has_the_targets_distribution) {
  // The first token of many seeds, once sampled plainly (Gumbel noise) and once through a draft:
  // two samples of one distribution, compared by chi-square over the tokens that are frequent.
  std::map<std::uint32_t, std::pair<double, double>> counts;
  constexpr int kSeeds = 2000;
  Driver plain(cpu_target(), without_drafts()), speculative(cpu_target(), options_of(1));
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
