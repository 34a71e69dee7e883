// How long drafts become by what became of those before (policy.h, drafts_wanted).
#include "forge/core/draft_history.h"

#include <gtest/gtest.h>

#include "forge/core/policy.h"

namespace forge {
namespace {

class DraftLength : public ::testing::Test {
 protected:
  std::uint32_t length() const { return drafts_wanted(64, history_, config_); }
  /// Steps in which the first `kept` of `drafts` drafts are kept.
  void steps(std::uint32_t count, std::uint32_t drafts, std::uint32_t kept) {
    for (std::uint32_t i = 0; i < count; ++i) history_.add(drafts, kept);
  }
  /// Steps that run as many drafts as are wanted, and keep none; returns all drafts.
  std::uint32_t reject(std::uint32_t tokens) {
    std::uint32_t drafts = 0;
    for (std::uint32_t i = 0; i < tokens; ++i) {
      const std::uint32_t wanted = length();
      drafts += wanted;
      history_.add(wanted, 0);
    }
    return drafts;
  }

  SchedulerConfig config_{.draft_lengths = DraftLengths::adaptive, .draft_break_even = 30};
  DraftHistory history_;
};

TEST_F(DraftLength, is_what_is_offered_where_it_is_fixed) {
  config_.draft_lengths = DraftLengths::fixed;
  EXPECT_EQ(drafts_wanted(3, history_, config_), 3U);
  EXPECT_EQ(drafts_wanted(64, history_, config_), 64U);
}

TEST_F(DraftLength, begins_at_four) {
  EXPECT_EQ(length(), 4U);
  EXPECT_EQ(drafts_wanted(3, history_, config_), 3U) << "no more than there are";
  EXPECT_EQ(drafts_wanted(0, history_, config_), 0U);
}

TEST_F(DraftLength, is_eight_where_all_were_kept) {
  steps(1, 4, 4);
  EXPECT_EQ(length(), 8U);
  steps(10, 8, 8);
  EXPECT_EQ(length(), 8U);
}

/// ceil(1 / (1 - acceptance)).
TEST_F(DraftLength, is_the_number_at_which_the_first_bad_one_is_to_be_expected) {
  steps(1, 2, 1);
  EXPECT_EQ(length(), 2U) << "1 of 2";
  steps(1, 4, 1);
  EXPECT_EQ(length(), 2U) << "2 of 4";
  steps(1, 3, 3);
  EXPECT_EQ(length(), 4U) << "5 of 7";
  steps(3, 8, 8);
  EXPECT_EQ(length(), 8U) << "29 of 31";
}

TEST_F(DraftLength, counts_the_draft_that_was_not_kept_and_none_behind_it) {
  history_.add(8, 3);
  EXPECT_EQ(history_.judged(), 4U);
  EXPECT_EQ(history_.kept(), 3U);
}

TEST_F(DraftLength, goes_by_the_last_thirty_two) {
  steps(40, 1, 0);
  steps(4, 8, 8);
  EXPECT_EQ(history_.judged(), 32U);
  EXPECT_EQ(history_.kept(), 32U);
  EXPECT_EQ(length(), 8U);
}

TEST_F(DraftLength, is_zero_once_the_first_eight_cannot_reach_break_even) {
  steps(5, 1, 0);
  EXPECT_EQ(length(), 1U) << "3 of 8 would do";
  steps(1, 1, 0);
  EXPECT_EQ(length(), 0U);
  config_.draft_break_even = 0;
  EXPECT_EQ(length(), 1U) << "nothing is below 0%";
  config_.draft_break_even = 25;
  EXPECT_EQ(length(), 1U) << "2 of 8 would do";
}

TEST_F(DraftLength, is_zero_after_one_bad_draft_where_nearly_all_must_be_kept) {
  config_.draft_break_even = 90;
  steps(1, 4, 4);
  EXPECT_EQ(length(), 8U);
  steps(1, 8, 2);
  EXPECT_EQ(length(), 0U) << "7 of 8 would not do";
}

TEST_F(DraftLength, is_for_one_bad_draft_of_many_what_it_is_by_the_last_thirty_two) {
  config_.draft_break_even = 90;
  steps(4, 8, 8);
  steps(3, 1, 0);
  EXPECT_EQ(length(), 8U) << "29 of 32";
  steps(1, 1, 0);
  EXPECT_EQ(length(), 0U) << "28 of 32";
}

TEST_F(DraftLength, at_break_even_is_not_below_it) {
  steps(3, 1, 1);
  steps(7, 1, 0);
  EXPECT_EQ(length(), 2U) << "3 of 10";
  config_.draft_break_even = 31;
  EXPECT_EQ(length(), 0U);
}

TEST_F(DraftLength, is_one_after_every_sixty_four_tokens_without_and_again_zero_if_it_is_bad) {
  EXPECT_EQ(reject(6), 4U + 5U) << "four at the beginning, then one a step";
  EXPECT_EQ(reject(64), 0U);
  EXPECT_EQ(length(), 1U);
  EXPECT_EQ(reject(65 * 5), 5U);
}

TEST_F(DraftLength, begins_anew_if_the_probe_is_kept) {
  reject(6 + 64);
  history_.add(1, 1);
  EXPECT_EQ(history_.judged(), 1U);
  EXPECT_EQ(length(), 8U);
}

/// A step may give drafts up (drafts_kept): the probe is still to come.
TEST_F(DraftLength, waits_with_the_probe_until_there_is_one) {
  reject(6 + 64);
  steps(10, 0, 0);
  EXPECT_EQ(length(), 1U);
}

}  // namespace
}  // namespace forge
