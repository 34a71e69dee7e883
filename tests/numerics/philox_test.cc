#include "forge/numerics/philox.h"

#include <gtest/gtest.h>

namespace forge::numerics {
namespace {

// Known answers published with the Random123 library of the paper's authors, for philox4x32-10.
TEST(Philox, reproduces_the_published_known_answers) {
  EXPECT_EQ(philox({{0, 0, 0, 0}}, 0), (Words4{{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}));
  EXPECT_EQ(philox({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, 0xffffffff'ffffffffu),
            (Words4{{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}));
  // Counter and key from the digits of pi.
  EXPECT_EQ(philox({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0x299f31d0'a4093822u),
            (Words4{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}));
}

TEST(Philox, counter_and_key_words_all_matter) {
  const Words4 base = philox({{1, 2, 3, 4}}, 5);
  EXPECT_NE(philox({{0, 2, 3, 4}}, 5), base);
  EXPECT_NE(philox({{1, 0, 3, 4}}, 5), base);
  EXPECT_NE(philox({{1, 2, 0, 4}}, 5), base);
  EXPECT_NE(philox({{1, 2, 3, 0}}, 5), base);
  EXPECT_NE(philox({{1, 2, 3, 4}}, 6), base);
  EXPECT_NE(philox({{1, 2, 3, 4}}, 5 | 1ull << 32), base);
}

TEST(Philox, uniform_open_is_strictly_inside_the_unit_interval_and_symmetric) {
  EXPECT_EQ(uniform_open(0), 0x1p-24f);
  EXPECT_EQ(uniform_open(0xffffffff), 1.0f - 0x1p-24f);
  for (std::uint32_t word = 0; word < 0xfff00000u; word += 0x000fffffu) {
    EXPECT_EQ(uniform_open(word) + uniform_open(~word), 1.0f);
  }
}

TEST(Philox, uniform_open_has_the_mean_and_variance_of_the_uniform_distribution) {
  constexpr int kDraws = 1 << 18;
  double sum = 0.0;
  double squares = 0.0;
  for (std::uint32_t i = 0; i < kDraws / 4; ++i) {
    const Words4 words = philox({{i, 0, 0, 0}}, 42);
    for (const std::uint32_t word : words.x) {
      const double u = uniform_open(word);
      sum += u;
      squares += u * u;
    }
  }
  // Five standard errors: sqrt(1/12 / n) of the mean, sqrt(4/45 / n) of the mean square.
  EXPECT_NEAR(sum / kDraws, 1.0 / 2, 5 * 0.2887 / 512);
  EXPECT_NEAR(squares / kDraws, 1.0 / 3, 5 * 0.2982 / 512);
}

}  // namespace
}  // namespace forge::numerics
