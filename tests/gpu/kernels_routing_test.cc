// How rows get to their experts: choose_experts has the bits of the CPU's (model/experts.h),
// plan_experts is a sort.
#include <algorithm>
#include <cmath>

#include "forge/model/experts.h"
#include "gpu/expert_choices.h"
#include "gpu/kernel_rig.h"

namespace forge::gpu {
namespace {

static_assert(ChooseExpertsArgs::kExpertsMax == model::kExpertsMax);

// ---- choose_experts -----------------------------------------------------------------------------

class ChooseExperts : public KernelTest {
 protected:
  /// products [rows][E]; bias [E] or empty.
  void expect(const model::ExpertsConfig& config, const std::vector<float>& products,
              const std::vector<float>& bias) const {
    SCOPED_TRACE(testing::Message()
                 << "E " << config.experts << " A " << config.experts_per_token << " groups "
                 << config.groups << " of a token " << config.groups_per_token << " best "
                 << config.group_best << " bias " << !bias.empty());
    const auto E = static_cast<std::size_t>(config.experts);
    const auto A = static_cast<std::size_t>(config.experts_per_token);
    const std::size_t rows = products.size() / E;
    std::vector<ExpertChoice> expected;
    std::vector<float> scratch(static_cast<std::size_t>(model::router_scratch_size(config)));
    for (std::size_t row = 0; row < rows; ++row) {
      std::vector<float> z(products.begin() + static_cast<std::ptrdiff_t>(row * E),
                           products.begin() + static_cast<std::ptrdiff_t>((row + 1) * E));
      std::vector<model::ExpertChoice> chosen(A);
      model::choose_experts(config, z, bias, scratch, chosen);
      for (const auto& [expert, weight] : chosen) {
        expected.push_back({static_cast<std::uint32_t>(expert), weight});
      }
    }
    const auto rig = this->rig(rows);
    const auto counts = counts_of(static_cast<int>(rows));
    const ChooseExpertsArgs args{.counts = rig->input("counts", std::vector{counts}),
                                 .products = rig->input("products", products),
                                 .bias = bias.empty() ? nullptr : rig->input("bias", bias),
                                 .choices = rig->output("choices", expected),
                                 .experts = config.experts,
                                 .experts_per_token = config.experts_per_token,
                                 .groups = config.groups,
                                 .groups_per_token = config.groups_per_token,
                                 .group_best = config.group_best,
                                 .sigmoid = config.score == model::ExpertScore::sigmoid,
                                 .normalized = config.normalized,
                                 .routed_scale = config.routed_scale};
    rig->expect(launch_of(args, args.shape(static_cast<int>(rows) + kRowsBeyond)));
  }

  void expect_random(const model::ExpertsConfig& config, std::uint64_t seed) const {
    Random random(seed);
    const std::vector<float> products = random.reals(size_of(5, config.experts), 6.0f);
    const std::vector<float> bias =
        config.correction_bias ? random.reals(size_of(config.experts)) : std::vector<float>();
    expect(config, products, bias);
  }
};
FORGE_KERNEL_TEST_TARGETS(ChooseExperts);

TEST_P(ChooseExperts, AnyNumberOfThem) {
  for (const int experts : {1, 2, 31, 32, 33, 64, 160, 256, 1024}) {
    for (const int per_token : {1, 2, 8, 40}) {
      if (per_token > experts) continue;
      expect_random({.experts = experts, .experts_per_token = per_token}, 1);
      expect_random({.experts = experts,
                     .experts_per_token = per_token,
                     .score = model::ExpertScore::sigmoid,
                     .correction_bias = true,
                     .normalized = true,
                     .routed_scale = 2.5f},
                    2);
    }
  }
}

TEST_P(ChooseExperts, FromTheBestGroups) {
  for (const int best : {1, 2}) {
    for (const auto& [groups, kept] : {std::pair{2, 1}, {8, 4}, {8, 8}, {40, 3}}) {
      model::ExpertsConfig config{.experts = groups * 4,
                                  .experts_per_token = 4,
                                  .groups = groups,
                                  .groups_per_token = kept,
                                  .group_best = best};
      expect_random(config, 3);
      config.correction_bias = true;
      config.score = model::ExpertScore::sigmoid;
      expect_random(config, 4);
    }
  }
}

TEST_P(ChooseExperts, OfEqualRanksTheLowerIndex) {
  const std::vector<float> same(2 * 70, 0.25f);
  std::vector<float> two_values = same;
  for (std::size_t i = 0; i < two_values.size(); i += 3) two_values[i] = 0.5f;
  for (const auto& products : {same, two_values}) {
    expect({.experts = 70, .experts_per_token = 9}, products, {});
    expect({.experts = 70,
            .experts_per_token = 9,
            .groups = 10,
            .groups_per_token = 5,
            .group_best = 2},
           products, {});
  }
}

/// Of numbers enough: a weight that is no number has no bits to compare.
TEST_P(ChooseExperts, WhatIsNoNumberComesLast) {
  std::vector<float> products(2 * 70, NAN);
  for (const std::size_t place : {3U, 4U, 33U, 69U, 70U, 101U, 102U, 103U}) {
    products[place] = -static_cast<float>(place);
  }
  const auto sigmoid = model::ExpertScore::sigmoid;
  expect({.experts = 70, .experts_per_token = 4, .score = sigmoid}, products, {});
  for (const int best : {1, 2}) {
    expect({.experts = 70,
            .experts_per_token = 1,
            .score = sigmoid,
            .groups = 10,
            .groups_per_token = 5,
            .group_best = best},
           products, {});
  }
}

TEST_P(ChooseExperts, NoRowIsNoWork) { expect({.experts = 8, .experts_per_token = 2}, {}, {}); }

// ---- plan_experts -------------------------------------------------------------------------------

class PlanExperts : public KernelTest {
 protected:
  void expect(const std::vector<ExpertChoice>& choices, int experts, int per_row,
              int tile_rows = 8) const {
    const auto rows = static_cast<int>(choices.size()) / per_row;
    SCOPED_TRACE(testing::Message() << "T " << rows << " E " << experts << " A " << per_row
                                    << " tiles of " << tile_rows);
    const PlanOnHost plan(choices, experts, tile_rows);
    const std::size_t tiles_max = size_of(expert_tiles_max(rows, experts, per_row, tile_rows));
    ASSERT_LE(plan.tiles.size(), tiles_max);
    const std::vector<ExpertTile> before(tiles_max + 1, {77, 77, 77});
    std::vector<ExpertTile> tiles = before;
    std::ranges::copy(plan.tiles, tiles.begin());
    const auto rig = this->rig(choices.size());
    const PlanExpertsArgs args{
        .counts = rig->input("counts", std::vector{counts_of(rows)}),
        .choices = rig->input("choices", choices),
        .plan = {.pairs = rig->output("pairs", plan.pairs),
                 .tiles = rig->output("tiles", before, tiles),
                 .tiles_count = rig->output(
                     "tiles_count",
                     std::vector<std::uint32_t>{static_cast<std::uint32_t>(plan.tiles.size())}),
                 .counts = rig->output("pair_counts", std::vector{counts_of(rows * per_row)})},
        .experts = experts,
        .experts_per_token = per_row,
        .tile_rows = tile_rows};
    for (const int rows_max : {std::max(rows, 1), rows + kRowsBeyond, 40 * rows + kRowsBeyond}) {
      rig->expect(launch_of(args, args.shape(rows_max)));  // more segments, the same plan
    }
  }
};
FORGE_KERNEL_TEST_TARGETS(PlanExperts);

TEST_P(PlanExperts, AnyNumberOfRowsAndExperts) {
  Random random(1);
  for (const int experts : {1, 2, 31, 32, 33, 64, 200, 1024}) {
    for (const int rows : {1, 7, 8, 9, 70}) {
      const int per_row = std::min(experts, 6);
      expect(random_choices(rows, experts, per_row, random), experts, per_row);
    }
  }
}

TEST_P(PlanExperts, RowsThatAllChooseTheSame) {
  for (const std::uint32_t expert : {0u, 31u, 32u, 63u}) {
    expect(std::vector<ExpertChoice>(25, {expert, 1.0f}), 64, 1);
    expect(std::vector<ExpertChoice>(129, {expert, 1.0f}), 64, 1, 128);
  }
}

/// Experts with fewer pairs than a tile, exactly as many, and one more, in several segments.
TEST_P(PlanExperts, TilesOfAnySize) {
  for (const int tile_rows : {8, 16, 128}) {
    std::vector<ExpertChoice> choices;
    for (std::uint32_t expert = 0; expert < 3; ++expert) {
      const std::size_t pairs = static_cast<std::size_t>(tile_rows) + expert - 1;
      choices.insert(choices.end(), pairs, {2 * expert, 1.0f});
    }
    ASSERT_EQ(PlanOnHost(choices, 6, tile_rows).tiles.size(), 4u);
    expect(choices, 6, 1, tile_rows);
  }
}

TEST_P(PlanExperts, NoRowIsNoTile) { expect({}, 8, 2); }

TEST(ExpertTilesMax, IsReachedByPairsThatOpenAsManyTilesAsTheyCan) {
  // Each of 8 experts has one pair; of the other 16 the first has 8, the second too.
  std::vector<ExpertChoice> choices;
  for (std::uint32_t expert = 0; expert < 8; ++expert) choices.push_back({expert, 1});
  for (std::uint32_t expert = 0; expert < 2; ++expert)
    choices.insert(choices.end(), 8, {expert, 1});
  EXPECT_EQ(PlanOnHost(choices, 8, 8).tiles.size(), 10u);
  EXPECT_EQ(expert_tiles_max(24, 8, 1, 8), 10);
  EXPECT_EQ(PlanOnHost(choices, 8, 16).tiles.size(), 8u);
  EXPECT_EQ(expert_tiles_max(24, 8, 1, 16), 9);
  EXPECT_EQ(expert_tiles_max(1, 256, 8, 8), 8);
  EXPECT_EQ(expert_tiles_max(512, 64, 6, 128), 64 + (3072 - 64) / 128);
}

}  // namespace
}  // namespace forge::gpu
