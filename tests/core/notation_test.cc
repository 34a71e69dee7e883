#include "forge/core/notation.h"

#include <gtest/gtest.h>

namespace forge {
namespace {

/// What the header shows, and a preemption of each kind.
StepPlan plan_of_the_header() {
  StepPlan plan;
  plan.admitted = {{.seq = SeqId(1)}, {.seq = SeqId(2), .cached_tokens = 8}};
  plan.copies = {{.kind = CopyKind::within, .from = BlockId(1), .to = BlockId(4)}};
  plan.appended_blocks = {BlockId(0), BlockId(1), BlockId(4)};
  plan.tables = {{.seq = SeqId(1), .appended_first = 0, .appended_count = 2},
                 {.seq = SeqId(2), .truncated_to = 2, .appended_first = 2, .appended_count = 1}};
  plan.slices = {{.seq = SeqId(2), .first = 8, .count = 1, .samples = true},
                 {.seq = SeqId(1), .first = 0, .count = 2, .samples = true}};
  plan.decodes = 1;
  return plan;
}

TEST(Notation, a_row_is_that_of_the_header) {
  StepPlan plan = plan_of_the_header();
  EXPECT_EQ(plan_row(plan), "0 | +1 +2@8 | [1>4] | 1:0+0,1 2:2+4 | 2:8+1 1:0+2*");
  plan.copies.clear();
  EXPECT_EQ(plan_row(plan), "0 | +1 +2@8 | 1:0+0,1 2:2+4 | 2:8+1 1:0+2*");
  EXPECT_EQ(plan_row(StepPlan()), "0 | | |");
}

TEST(Notation, whoever_ends_leaves_comes_back_and_comes_stand_in_this_order) {
  StepPlan plan;
  plan.step = StepId(7);
  plan.admitted = {{.seq = SeqId(5)}};
  plan.resumed = {{.seq = SeqId(4), .cached_tokens = 3}};
  plan.preempted = {{.seq = SeqId(2)}, {.seq = SeqId(3), .mode = PreemptionMode::swap}};
  plan.finished = {{.seq = SeqId(1)}};
  EXPECT_EQ(plan_row(plan), "7 | !1 -2 -3~ ^4@3 +5 | |");
}

TEST(Notation, blocks_of_the_host_have_an_h) {
  StepPlan plan;
  plan.copies = {{.kind = CopyKind::swap_out, .from = BlockId(1), .to = BlockId(0)},
                 {.kind = CopyKind::swap_in, .from = BlockId(0), .to = BlockId(1)}};
  EXPECT_EQ(copy_words(plan), (PlanWords{"[1>h0]", "[h0>1]"}));
}

TEST(Notation, a_slice_says_how_it_ends_and_what_of_it_is_a_guess) {
  StepPlan plan;
  plan.slices = {{.seq = SeqId(1), .first = 4, .count = 3, .drafts = 2, .samples = true},
                 {.seq = SeqId(2), .first = 0, .count = 2, .samples = true},
                 {.seq = SeqId(3), .first = 6, .count = 4, .samples = false}};
  plan.decodes = 1;
  EXPECT_EQ(slice_words(plan), (PlanWords{"1:4+3/2", "2:0+2*", "3:6+4>"}));
}

}  // namespace
}  // namespace forge
