// Plans that contradict what the executor knows are caught at the step that contains them, by every
// target before it touches any memory.
#include <gtest/gtest.h>

#include <optional>

#include "executor/driver.h"

namespace forge::executor {
namespace {

using testing::Driver;
using testing::request_of;

/// One new sequence of three tokens, 64 blocks of 16 slots, 2 host blocks.
class PlanContradictionDeathTest : public testing::TargetTest {
 protected:
  void SetUp() override {
    driver_.emplace(target(), ExecutorOptions{.cache = {.num_blocks = 64, .num_host_blocks = 2}});
    driver_->begin(1, request_of("abc"));
  }

  void execute(const StepPlan& plan) {
    StepResult result;
    static_cast<void>(driver_->executor().execute(plan, result));
  }
  /// Admits the sequence with one block.
  StepPlan plan_of(Slice slice, std::uint32_t block = 0) {
    StepPlan plan;
    plan.admitted = {{SeqId(1), 0}};
    plan.tables = {{SeqId(1), 0, 0, 1}};
    plan.appended_blocks = {BlockId(block)};
    plan.slices = {slice};
    return plan;
  }
  StepPlan good_plan() { return plan_of({SeqId(1), 0, 3, 0, true}); }
  /// Step 1: sequence 1, three tokens in block 0 and one of output, goes to the host.
  StepPlan plan_of_swap_out(std::uint32_t from, std::uint32_t to) {
    StepPlan plan;
    plan.step = StepId(1);
    plan.preempted = {{SeqId(1), PreemptionMode::swap}};
    plan.copies = {{CopyKind::swap_out, BlockId(from), BlockId(to)}};
    return plan;
  }
  /// Step 2: it comes back, to block 5.
  StepPlan plan_of_swap_in(std::uint32_t from, std::uint32_t to) {
    StepPlan plan;
    plan.step = StepId(2);
    plan.resumed = {{SeqId(1), 3}};
    plan.copies = {{CopyKind::swap_in, BlockId(from), BlockId(to)}};
    plan.tables = {{SeqId(1), 0, 0, 1}};
    plan.appended_blocks = {BlockId(5)};
    plan.slices = {{SeqId(1), 3, 1, 0, true}};
    return plan;
  }
  std::optional<Driver> driver_;
};

TEST_P(PlanContradictionDeathTest, an_unknown_sequence) {
  StepPlan plan;
  plan.slices = {{SeqId(7), 0, 1, 0, false}};
  EXPECT_DEATH(execute(plan), "unknown sequence 7");
  plan = {};
  plan.finished = {{SeqId(7), FinishReason::length}};
  EXPECT_DEATH(execute(plan), "unknown sequence 7");
}

TEST_P(PlanContradictionDeathTest, a_sequence_that_begins_twice) {
  EXPECT_DEATH(driver_->begin(1, request_of("x")), "sequence 1 is known already");
}

TEST_P(PlanContradictionDeathTest, a_step_that_comes_again) {
  execute(good_plan());
  StepPlan plan;
  EXPECT_DEATH(execute(plan), "step 0 after step 0");
}

TEST_P(PlanContradictionDeathTest, an_admission_of_a_sequence_that_is_in_the_batch) {
  execute(good_plan());
  StepPlan plan = good_plan();
  plan.step = StepId(1);
  EXPECT_DEATH(execute(plan), "sequence 1 is in the batch, not new");
}

TEST_P(PlanContradictionDeathTest, a_resumption_of_a_sequence_that_was_never_admitted) {
  StepPlan plan = good_plan();
  std::swap(plan.admitted, plan.resumed);
  EXPECT_DEATH(execute(plan), "sequence 1 is new, not preempted");
}

TEST_P(PlanContradictionDeathTest, an_admission_of_a_preempted_sequence) {
  execute(good_plan());
  StepPlan plan;
  plan.step = StepId(1);
  plan.preempted = {{SeqId(1), PreemptionMode::recompute}};
  execute(plan);
  plan = good_plan();
  plan.step = StepId(2);
  EXPECT_DEATH(execute(plan), "sequence 1 is preempted, not new");
}

TEST_P(PlanContradictionDeathTest, a_preemption_of_a_sequence_outside_the_batch) {
  StepPlan plan;
  plan.preempted = {{SeqId(1), PreemptionMode::swap}};
  EXPECT_DEATH(execute(plan), "sequence 1 is new, not in the batch");
}

TEST_P(PlanContradictionDeathTest, an_admission_without_a_token_left_to_run) {
  StepPlan plan = good_plan();
  plan.admitted[0].cached_tokens = 3;
  EXPECT_DEATH(execute(plan), "cached_tokens=3 of 3 tokens leaves none to run");
}

TEST_P(PlanContradictionDeathTest, a_slice_of_a_sequence_outside_the_batch) {
  StepPlan plan = good_plan();
  plan.admitted.clear();
  EXPECT_DEATH(execute(plan), "sequence 1 is new, not in the batch");
}

TEST_P(PlanContradictionDeathTest, two_slices_of_one_sequence) {
  StepPlan plan = good_plan();
  plan.slices = {{SeqId(1), 0, 1, 0, false}, {SeqId(1), 0, 1, 0, false}};
  EXPECT_DEATH(execute(plan), "sequence 1 has two slices in step 0");
}

TEST_P(PlanContradictionDeathTest, a_block_outside_the_pool) {
  EXPECT_DEATH(execute(plan_of({SeqId(1), 0, 3, 0, true}, 64)), "block=64 num_blocks=64");
}

TEST_P(PlanContradictionDeathTest, a_slice_that_does_not_start_where_valid_kv_ends) {
  EXPECT_DEATH(execute(plan_of({SeqId(1), 1, 2, 0, true})), "first=1 valid=0");
  StepPlan plan = good_plan();
  plan.admitted[0].cached_tokens = 2;
  EXPECT_DEATH(execute(plan), "first=0 valid=2");
}

TEST_P(PlanContradictionDeathTest, a_slice_beyond_the_known_tokens) {
  EXPECT_DEATH(execute(plan_of({SeqId(1), 0, 4, 0, false})), "slice ends at 4 of 3 tokens");
}

TEST_P(PlanContradictionDeathTest, a_slice_that_samples_before_the_end) {
  EXPECT_DEATH(execute(plan_of({SeqId(1), 0, 2, 0, true})), "slice ends at 2 of 3 tokens");
}

TEST_P(PlanContradictionDeathTest, a_slice_to_the_end_that_does_not_sample) {
  EXPECT_DEATH(execute(plan_of({SeqId(1), 0, 3, 0, false})), "slice ends at 3 of 3 tokens");
}

TEST_P(PlanContradictionDeathTest, drafts_of_a_slice_that_does_not_sample) {
  EXPECT_DEATH(execute(plan_of({SeqId(1), 0, 3, 1, false})), "tokens, drafts=1 samples=0");
}

TEST_P(PlanContradictionDeathTest, a_slice_without_room_in_its_table) {
  EXPECT_DEATH(execute(plan_of({SeqId(1), 0, 17, 14, true})), "slice needs 17 slots of 16");
}

TEST_P(PlanContradictionDeathTest, a_table_that_is_cut_longer_than_it_is) {
  StepPlan plan = good_plan();
  plan.tables[0].truncated_to = 2;
  EXPECT_DEATH(execute(plan), "truncated_to=2 blocks=0");
}

TEST_P(PlanContradictionDeathTest, a_table_cut_below_its_valid_kv) {
  execute(good_plan());
  StepPlan plan;
  plan.step = StepId(1);
  plan.tables = {{SeqId(1), 0, 0, 0}};
  plan.slices = {{SeqId(1), 3, 1, 0, true}};
  EXPECT_DEATH(execute(plan), "slice needs 4 slots of 0");
}

TEST_P(PlanContradictionDeathTest, a_table_that_changes_without_a_slice) {
  StepPlan plan = good_plan();
  plan.slices.clear();
  EXPECT_DEATH(execute(plan), "sequence 1: its table changes without a slice");
}

TEST_P(PlanContradictionDeathTest, a_table_that_changes_twice) {
  StepPlan plan = good_plan();
  plan.tables.push_back({SeqId(1), 1, 0, 0});
  EXPECT_DEATH(execute(plan), "out of order or twice");
}

TEST_P(PlanContradictionDeathTest, a_copy_outside_the_pools) {
  StepPlan plan = good_plan();
  plan.copies = {{CopyKind::within, BlockId(64), BlockId(0)}};
  EXPECT_DEATH(execute(plan), "from=64 num_blocks=64");
  execute(good_plan());
  EXPECT_DEATH(execute(plan_of_swap_out(0, 2)), "to=2 num_blocks=2");
}

TEST_P(PlanContradictionDeathTest, a_swap_that_leaves_a_block_behind) {
  execute(good_plan());
  StepPlan plan = plan_of_swap_out(0, 1);
  plan.copies.clear();
  EXPECT_DEATH(execute(plan), "swapped out with 3 valid tokens, of which 0 blocks are copied");
}

TEST_P(PlanContradictionDeathTest, a_copy_to_the_host_for_nobody) {
  execute(good_plan());
  StepPlan plan = plan_of_swap_out(0, 1);
  plan.preempted[0].mode = PreemptionMode::recompute;
  EXPECT_DEATH(execute(plan), "block 0 is copied to the host for nobody");
}

TEST_P(PlanContradictionDeathTest, a_swap_in_to_another_place_than_the_table_says) {
  execute(good_plan());
  execute(plan_of_swap_out(0, 1));
  EXPECT_DEATH(execute(plan_of_swap_in(1, 9)), "host block 1 is not copied in its turn");
  StepPlan plan = plan_of_swap_in(1, 5);
  plan.resumed[0].cached_tokens = 2;
  EXPECT_DEATH(execute(plan), "swapped in: cached_tokens=2 of 3 in host memory");
}

TEST_P(PlanContradictionDeathTest, a_copy_from_the_host_for_nobody) {
  StepPlan plan = good_plan();
  plan.copies = {{CopyKind::swap_in, BlockId(0), BlockId(0)}};
  EXPECT_DEATH(execute(plan), "host block 0 is copied back for nobody");
}

FORGE_FOR_EACH_TARGET_THAT_FORKS(PlanContradictionDeathTest);

}  // namespace
}  // namespace forge::executor
