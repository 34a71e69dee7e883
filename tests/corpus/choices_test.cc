#include "forge/corpus/choices.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace forge::corpus {
namespace {

TEST(Choices, follow_from_the_seed) {
  Choices a(7);
  Choices b(7);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.below(1000), b.below(1000));
}

/// 8000 draws of 8, each 1000 times: +-150 is five deviations.
TEST(Choices, below_draws_each_number_alike) {
  Choices choices(1);
  std::array<int, 8> seen{};
  for (int i = 0; i < 8000; ++i) ++seen[choices.below(8)];
  for (const int count : seen) EXPECT_NEAR(count, 1000, 150);
}

TEST(Choices, weighted_never_draws_what_has_no_weight) {
  Choices choices(2);
  std::array<int, 4> seen{};
  for (int i = 0; i < 4000; ++i) ++seen[choices.weighted(std::array<std::uint32_t, 4>{0, 3, 0, 1})];
  EXPECT_EQ(seen[0] + seen[2], 0);
  EXPECT_NEAR(seen[1], 3000, 140);
}

TEST(Choices, take_leaves_the_others_in_order) {
  Choices choices(3);
  std::vector<std::string_view> words = {"a", "b", "c"};
  const std::string_view taken = choices.take(words);
  std::vector<std::string_view> others = {"a", "b", "c"};
  std::erase(others, taken);
  EXPECT_EQ(words, others);
}

TEST(Choices, nats_are_those_of_all_choices_together) {
  Choices choices(4);
  choices.below(8);
  choices.weighted(std::array<std::uint32_t, 2>{5, 0});
  choices.weighted(std::array<std::uint32_t, 1>{3});
  EXPECT_DOUBLE_EQ(nats(choices.made()), std::log(8.0));
}

}  // namespace
}  // namespace forge::corpus
