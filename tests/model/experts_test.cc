#include "forge/model/experts.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "model/stored_weights.h"
#include "numerics/test_values.h"

namespace forge::model {
namespace {

struct Choice {
  std::vector<int> experts;
  std::vector<double> weights;
};

Choice choose(const ExpertsConfig& config, std::vector<float> products,
              const std::vector<float>& bias = {}) {
  std::vector<float> scratch(static_cast<std::size_t>(router_scratch_size(config)));
  std::vector<ExpertChoice> chosen(static_cast<std::size_t>(config.experts_per_token));
  choose_experts(config, products, bias, scratch, chosen);
  Choice out;
  for (const ExpertChoice& choice : chosen) {
    out.experts.push_back(choice.expert);
    out.weights.push_back(static_cast<double>(choice.weight));
  }
  return out;
}

TEST(ChooseExperts, takes_the_largest_in_ascending_order_of_index) {
  const ExpertsConfig config{.experts = 5, .experts_per_token = 3};
  EXPECT_EQ(choose(config, {0, 3, 1, 2, -1}).experts, (std::vector{1, 2, 3}));
}

TEST(ChooseExperts, of_equal_scores_takes_the_lower_index) {
  const ExpertsConfig config{.experts = 6, .experts_per_token = 2};
  EXPECT_EQ(choose(config, {1, 1, 1, 1, 1, 1}).experts, (std::vector{0, 1}));
  EXPECT_EQ(choose(config, {0, 1, 0, 1, 0, 1}).experts, (std::vector{1, 3}));
}

TEST(ChooseExperts, of_equal_groups_takes_the_lower_index) {
  const ExpertsConfig config{
      .experts = 6, .experts_per_token = 2, .groups = 3, .groups_per_token = 1};
  EXPECT_EQ(choose(config, {1, 0, 0, 1, 1, 0}).experts, (std::vector{0, 1}));
}

TEST(ChooseExperts, weighs_by_softmax_over_all_experts) {
  const ExpertsConfig config{.experts = 3, .experts_per_token = 2};
  const Choice choice = choose(config, {0, std::log(2.0F), std::log(5.0F)});
  EXPECT_NEAR(choice.weights[0], 2.0 / 8, 1e-6);
  EXPECT_NEAR(choice.weights[1], 5.0 / 8, 1e-6);
}

TEST(ChooseExperts, normalized_weights_sum_to_the_scale) {
  const ExpertsConfig config{
      .experts = 3, .experts_per_token = 2, .normalized = true, .routed_scale = 3};
  const Choice choice = choose(config, {0, std::log(2.0F), std::log(4.0F)});
  EXPECT_NEAR(choice.weights[0], 1, 1e-6);
  EXPECT_NEAR(choice.weights[1], 2, 1e-6);
}

TEST(ChooseExperts, a_correction_bias_chooses_but_does_not_weigh) {
  const ExpertsConfig config{
      .experts = 3, .experts_per_token = 1, .score = ExpertScore::sigmoid, .correction_bias = true};
  const Choice choice = choose(config, {4, 0, -4}, {0, 0, 1});
  EXPECT_EQ(choice.experts, std::vector{2});
  EXPECT_NEAR(choice.weights[0], 1 / (1 + std::exp(4.0)), 1e-7);
}

TEST(ChooseExperts, a_group_is_scored_by_its_best_or_its_two_best) {
  ExpertsConfig config{.experts = 6,
                       .experts_per_token = 1,
                       .score = ExpertScore::sigmoid,
                       .groups = 2,
                       .groups_per_token = 1};
  const std::vector<float> products = {2, -9, -9, 1, 1, 1};
  EXPECT_EQ(choose(config, products).experts, std::vector{0});
  config.group_best = 2;
  EXPECT_EQ(choose(config, products).experts, std::vector{3});
}

TEST(ChooseExperts, without_numbers_to_compare_takes_the_first_ones_each_once) {
  const std::vector<float> products(6, NAN);
  ExpertsConfig config{.experts = 6, .experts_per_token = 3};
  EXPECT_EQ(choose(config, products).experts, (std::vector{0, 1, 2}));
  config.groups = 3;
  config.groups_per_token = 2;
  config.group_best = 2;
  EXPECT_EQ(choose(config, products).experts, (std::vector{0, 1, 2}));
}

TEST(ChooseExperts, what_is_no_number_comes_after_every_number) {
  ExpertsConfig config{.experts = 6, .experts_per_token = 3, .score = ExpertScore::sigmoid};
  const std::vector<float> products{NAN, -90, NAN, NAN, 1, NAN};
  EXPECT_EQ(choose(config, products).experts, (std::vector{0, 1, 4}));
  config.groups = 3;
  config.groups_per_token = 1;
  config.experts_per_token = 2;
  EXPECT_EQ(choose(config, products).experts, (std::vector{4, 5})) << "the group of the best one";
}

TEST(ChooseExperts, a_group_of_the_lowest_numbers_is_a_group) {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  const ExpertsConfig config{.experts = 6,
                             .experts_per_token = 3,
                             .score = ExpertScore::sigmoid,
                             .correction_bias = true,
                             .groups = 3,
                             .groups_per_token = 2,
                             .group_best = 2};
  EXPECT_EQ(choose(config, {0, 0, 0, 0, 0, 0}, {kLowest, kLowest, 0, 1, kLowest, kLowest}).experts,
            (std::vector{0, 2, 3}));
}

/// The definition in experts.h by sorting, in double.
Choice choose_plainly(const ExpertsConfig& c, const std::vector<float>& z,
                      const std::vector<float>& bias) {
  const auto E = z.size();
  std::vector<double> s(E), r(E);
  double sum = 0;
  for (std::size_t e = 0; e < E; ++e) sum += std::exp(static_cast<double>(z[e]));
  for (std::size_t e = 0; e < E; ++e) {
    const double x = z[e];
    s[e] = c.score == ExpertScore::softmax ? std::exp(x) / sum : 1 / (1 + std::exp(-x));
    r[e] = s[e] + (bias.empty() ? 0 : static_cast<double>(bias[e]));
  }
  const std::size_t size = E / static_cast<std::size_t>(c.groups);
  std::vector<std::size_t> groups(static_cast<std::size_t>(c.groups)), candidates;
  std::iota(groups.begin(), groups.end(), 0U);
  const auto score = [&](std::size_t group) {
    const auto first = r.begin() + static_cast<std::ptrdiff_t>(group * size);
    std::vector<double> ranks(first, first + static_cast<std::ptrdiff_t>(size));
    std::ranges::sort(ranks, std::greater());
    return c.group_best == 2 ? ranks[0] + ranks[1] : ranks[0];
  };
  std::ranges::stable_sort(groups, std::greater(), score);
  groups.resize(static_cast<std::size_t>(c.groups_per_token));
  for (std::size_t e = 0; e < E; ++e) {
    if (std::ranges::count(groups, e / size) > 0) candidates.push_back(e);
  }
  std::ranges::stable_sort(candidates, std::greater(), [&](std::size_t e) { return r[e]; });
  candidates.resize(static_cast<std::size_t>(c.experts_per_token));
  std::ranges::sort(candidates);
  Choice out;
  double total = 0;
  for (const std::size_t e : candidates) total += s[e];
  for (const std::size_t e : candidates) {
    out.experts.push_back(static_cast<int>(e));
    out.weights.push_back((c.normalized ? s[e] / total : s[e]) *
                          static_cast<double>(c.routed_scale));
  }
  return out;
}

RC_GTEST_PROP(ChooseExperts, agrees_with_the_definition, ()) {
  ExpertsConfig c;
  c.groups = *rc::gen::inRange(1, 6);
  const int group_size = *rc::gen::inRange(2, 9);
  c.experts = c.groups * group_size;
  c.groups_per_token = *rc::gen::inRange(1, c.groups + 1);
  c.group_best = *rc::gen::inRange(1, 3);
  c.experts_per_token = *rc::gen::inRange(1, c.groups_per_token * group_size + 1);
  c.score = *rc::gen::element(ExpertScore::softmax, ExpertScore::sigmoid);
  c.normalized = *rc::gen::arbitrary<bool>();
  c.routed_scale = 2.5F;
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto products = numerics::random_values(c.experts, seed, 4);
  const auto bias = *rc::gen::arbitrary<bool>() ? numerics::random_values(c.experts, seed + 1, 0.3F)
                                                : std::vector<float>();
  const Choice expected = choose_plainly(c, products, bias);
  const Choice choice = choose(c, products, bias);
  RC_ASSERT(choice.experts == expected.experts);
  for (std::size_t i = 0; i < expected.weights.size(); ++i) {
    // exp, a sum of up to 40 and two divisions, each correct to a few units of the last place.
    RC_ASSERT(std::abs(choice.weights[i] - expected.weights[i]) <=
              50 * 0x1p-24 * expected.weights[i]);
  }
}

/// Experts of random weights, and what they make of rows.
class ExpertsLayer : public ::testing::Test {
 protected:
  ExpertsLayer() {
    const ModelConfig config = testing::wide_latent();
    stored_ = weights_.random(config, quant::WeightType::f32);
    packed_ = pack(config, stored_, threads_).value();
  }

  const PackedExperts& experts() const { return std::get<PackedExperts>(packed_.layers[1].mlp); }

  std::vector<float> run(const std::vector<float>& x, int rows) {
    std::vector<float> out(x.size(), -1.0F);
    ExpertsScratch scratch;
    run_experts(experts(), {x.data(), rows}, out.data(), scratch, workers_);
    return out;
  }

  testing::StoredWeights weights_;
  linear::ThreadPool threads_{2};
  Workers workers_{threads_};
  StoredModel stored_;
  PackedModel packed_;
};

/// out += weight * MLP(x), in double.
void add_mlp(const StoredMlp& mlp, const float* x, double weight, std::vector<double>& out) {
  const auto F = mlp.gate.outputs;
  const auto d = mlp.gate.inputs;
  std::vector<float> row(static_cast<std::size_t>(std::max(F, d)));
  std::vector<double> gated(static_cast<std::size_t>(F));
  const auto product = [&](const linear::StoredLinear& matrix, int output, const auto& input) {
    stored_row(matrix, output, row.data());
    double sum = 0;
    for (int k = 0; k < matrix.inputs; ++k) {
      sum += static_cast<double>(row[static_cast<std::size_t>(k)]) * static_cast<double>(input[k]);
    }
    return sum;
  };
  for (int i = 0; i < F; ++i) {
    const double gate = product(mlp.gate, i, x);
    gated[static_cast<std::size_t>(i)] = gate / (1 + std::exp(-gate)) * product(mlp.up, i, x);
  }
  for (int i = 0; i < d; ++i) {
    out[static_cast<std::size_t>(i)] += weight * product(mlp.down, i, gated.data());
  }
}

TEST_F(ExpertsLayer, adds_what_the_chosen_and_the_shared_experts_make_of_a_row) {
  constexpr int kRows = 5;
  const auto x = numerics::random_values(kRows * 256, 1);
  const auto out = run(x, kRows);
  const auto& stored = std::get<StoredExperts>(stored_.layers[1].mlp);
  std::vector<float> products(kRows * 8);
  linear::multiply_reference(x.data(), kRows, std::span(&stored.router, 1), products.data());
  for (int row = 0; row < kRows; ++row) {
    const float* x_row = x.data() + row * 256;
    const Choice choice = choose_plainly(
        experts().config, {products.begin() + row * 8, products.begin() + (row + 1) * 8},
        stored.correction_bias);
    std::vector<double> expected(256);
    for (std::size_t i = 0; i < choice.experts.size(); ++i) {
      add_mlp(stored.experts[static_cast<std::size_t>(choice.experts[i])], x_row, choice.weights[i],
              expected);
    }
    add_mlp(*stored.shared, x_row, 1, expected);
    for (std::size_t i = 0; i < 256; ++i) {
      // Three products of 256 terms of variance 1 / 256 around 1, times 2.5 at most in sum.
      EXPECT_NEAR(out[static_cast<std::size_t>(row) * 256 + i], expected[i],
                  3.5 * 3 * 256 * 0x1p-24);
    }
  }
}

TEST_F(ExpertsLayer, a_row_that_has_overflowed_spoils_no_other) {
  constexpr int kRows = 4;
  auto x = numerics::random_values(kRows * 256, 3);
  const auto before = run(x, kRows);
  std::fill(x.begin() + 256, x.begin() + 3 * 256, NAN);
  const auto after = run(x, kRows);
  for (const int row : {0, 3}) {
    const auto first = before.begin() + row * 256;
    EXPECT_TRUE(std::equal(first, first + 256, after.begin() + row * 256)) << row;
  }
  EXPECT_TRUE(std::isnan(after[256]) && std::isnan(after[3 * 256 - 1]));
}

TEST_F(ExpertsLayer, a_row_has_the_same_bits_alone_and_among_others) {
  constexpr int kRows = 40;
  const auto x = numerics::random_values(kRows * 256, 2);
  const auto together = run(x, kRows);
  for (int row = 0; row < kRows; ++row) {
    const auto first = row * 256;
    const auto alone = run({x.begin() + first, x.begin() + first + 256}, 1);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + first)) << row;
  }
}

}  // namespace
}  // namespace forge::model
