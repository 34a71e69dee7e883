// The expected frequencies and factors are those of transformers 5.23
// (modeling_rope_utils.ROPE_INIT_FUNCTIONS with torch.float64 for its float32), to 15 digits.
#include "forge/model/rope_frequencies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace forge::model {
namespace {

using ::testing::ElementsAreArray;

/// numerics/rotary.h promises 2^-48, the digits written here are good to 2^-49; scaling adds a few
/// roundings and, where frequencies are mixed, no cancellation.
constexpr double kRelative = 1e-14;

void expect_frequencies(const RopeConfig& rope, const std::vector<double>& expected) {
  const std::vector<double> frequencies = rope_frequencies(rope);
  ASSERT_EQ(frequencies.size(), expected.size());
  for (std::size_t pair = 0; pair < expected.size(); ++pair) {
    EXPECT_NEAR(frequencies[pair], expected[pair], kRelative * expected[pair]) << "pair " << pair;
  }
}

RopeConfig rope(int size, double base, RopeScaling scaling) {
  return {.size = size, .base = base, .pairing = RopePairing::halves, .scaling = scaling};
}

/// Qwen3's golden model: a ramp within the pairs.
constexpr YarnRope kYarn{.factor = 4,
                         .beta_fast = 4,
                         .beta_slow = 1,
                         .original_positions = 48,
                         .attention_factor = 1,
                         .truncate = true};

TEST(RopeFrequencies, without_scaling_are_powers_of_the_base) {
  expect_frequencies(rope(8, 10000, {}), {1, 0.1, 0.01, 0.001});
}

TEST(RopeFrequencies, linear_scaling_slows_all_pairs_alike) {
  expect_frequencies(rope(8, 10000, LinearRope{4}), {0.25, 0.025, 0.0025, 0.00025});
}

TEST(RopeFrequencies, llama3_keeps_short_waves_and_stretches_long_ones) {
  const Llama3Rope llama3{
      .factor = 4, .low_freq_factor = 1, .high_freq_factor = 4, .original_positions = 48};
  expect_frequencies(
      rope(16, 50, llama3),
      {1.0, 0.613237563517304, 0.270094894847132, 0.101571969698897, 0.0381971863420549,
       0.0216812219820701, 0.0132957397423625, 0.00815344704476655});
}

TEST(RopeFrequencies, yarn_has_its_ramp_between_whole_pairs) {
  expect_frequencies(rope(16, 100, kYarn),
                     {1.0, 0.562341325190349, 0.237170824512628, 0.0889139705019461, 0.025,
                      0.0140585331297587, 0.00790569415042095, 0.00444569852509731});
}

TEST(RopeFrequencies, yarn_may_have_its_ramp_between_fractions_of_pairs) {
  YarnRope yarn = kYarn;
  yarn.truncate = false;
  expect_frequencies(rope(16, 100, yarn),
                     {1.0, 0.562341325190349, 0.229957154169762, 0.073933320193125, 0.025,
                      0.0140585331297587, 0.00790569415042095, 0.00444569852509731});
}

TEST(RopeFrequencies, a_ramp_that_begins_before_the_first_pair_is_cut_off) {
  YarnRope yarn = kYarn;
  yarn.beta_fast = 32;
  expect_frequencies(rope(8, 100, yarn), {1.0, 0.197642353760524, 0.025, 0.00790569415042095});
}

TEST(RopeFrequencies, yarn_of_deepseek_v3) {
  const YarnRope yarn{.factor = 40,
                      .beta_fast = 32,
                      .beta_slow = 1,
                      .original_positions = 4096,
                      .attention_factor = 1,
                      .truncate = true};
  expect_frequencies(rope(64, 10000, yarn), {1.0,
                                             0.749894209332456,
                                             0.562341325190349,
                                             0.421696503428582,
                                             0.316227766016838,
                                             0.237137370566166,
                                             0.177827941003892,
                                             0.133352143216332,
                                             0.1,
                                             0.0749894209332456,
                                             0.0562341325190349,
                                             0.0390069265671439,
                                             0.0268793601114312,
                                             0.0183781462188778,
                                             0.0124479558702725,
                                             0.00833450895102078,
                                             0.0055,
                                             0.00356199749432917,
                                             0.0022493653007614,
                                             0.00137051363614289,
                                             0.000790569415042095,
                                             0.00041499039849079,
                                             0.000177827941003892,
                                             3.33380358040831e-05,
                                             2.5e-05,
                                             1.87473552333114e-05,
                                             1.40585331297587e-05,
                                             1.05424125857146e-05,
                                             7.90569415042095e-06,
                                             5.92843426415414e-06,
                                             4.44569852509731e-06,
                                             3.33380358040831e-06});
}

TEST(RopeFrequencies, a_table_divides_each_pair_by_its_own) {
  expect_frequencies(rope(8, 10000, TabledRope{{1, 2, 4, 8}}), {1, 0.05, 0.0025, 0.000125});
}

TEST(RopeFrequencies, long_rope_has_one_table_for_every_text) {
  LongRope both{.short_divisors = {1, 1, 2, 2}, .long_divisors = {1, 2, 4, 5}};
  both.attention_factor = 1.25;
  expect_frequencies(rope(8, 10000, both), {1, 0.1, 0.005, 0.0005});
  both.is_long = true;
  expect_frequencies(rope(8, 10000, both), {1, 0.05, 0.0025, 0.0002});
  EXPECT_EQ(rope_attention_factor(rope(8, 10000, both)), 1.25);
}

TEST(RopeFrequencies, dynamic_changes_nothing_within_the_context) {
  expect_frequencies(rope(8, 10000, DynamicRope{4}), {1, 0.1, 0.01, 0.001});
}

TEST(RopeFrequencies, only_yarn_scales_cosines_and_sines) {
  YarnRope yarn = kYarn;
  yarn.attention_factor = 1.25;
  EXPECT_EQ(rope_attention_factor(rope(16, 100, yarn)), 1.25);
  EXPECT_EQ(rope_attention_factor(rope(16, 100, {})), 1);
  EXPECT_EQ(rope_attention_factor(rope(16, 100, LinearRope{4})), 1);
  EXPECT_EQ(rope_attention_factor(rope(16, 100, Llama3Rope{})), 1);
}

RC_GTEST_PROP(RopeFrequencies, are_between_the_original_and_its_share, ()) {
  const int size = 2 * *rc::gen::inRange(1, 65);
  const double base = *rc::gen::inRange(2, 1000000);
  const double factor = *rc::gen::inRange(1, 64);
  const double positions = *rc::gen::inRange(1, 100000);
  const int fast = *rc::gen::inRange(2, 64);
  const int slow = *rc::gen::inRange(1, fast);
  const auto scaling = *rc::gen::element<RopeScaling>(
      LinearRope{factor},
      Llama3Rope{factor, static_cast<double>(slow), static_cast<double>(fast), positions},
      YarnRope{factor, static_cast<double>(fast), static_cast<double>(slow), positions, 1, false},
      YarnRope{factor, static_cast<double>(fast), static_cast<double>(slow), positions, 1, true});
  const std::vector<double> original = rope_frequencies(rope(size, base, {}));
  const std::vector<double> scaled = rope_frequencies(rope(size, base, scaling));
  for (std::size_t pair = 0; pair < original.size(); ++pair) {
    RC_ASSERT(scaled[pair] <= original[pair] * (1 + kRelative));
    RC_ASSERT(scaled[pair] >= original[pair] / factor * (1 - kRelative));
  }
}

}  // namespace
}  // namespace forge::model
