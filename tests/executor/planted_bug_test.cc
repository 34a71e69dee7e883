// The classic bug of prefix caching, planted by hand: a block is visible to others before its KV
// has been written. Checked builds catch it at the first read.
#include <gtest/gtest.h>

#include "executor/driver.h"

namespace forge::executor {
namespace {

using testing::request_of;

/// Sequence 1 is to write "the cat " into blocks 0 and 1; sequence 2 has the same prefix.
class PlantedBugDeathTest : public testing::TargetTest {
 protected:
  void SetUp() override {
    executor_ = target()({.cache = {.num_blocks = 8, .block_size = 4}, .check_kv = true});
    executor_->begin(SeqId(1), request_of("the cat sat"));
    executor_->begin(SeqId(2), request_of("the cat ran"));
  }

  void execute(const StepPlan& plan) {
    StepResult result;
    static_cast<void>(executor_->execute(plan, result));
  }
  /// Step 0: the writer runs `count` tokens.
  StepPlan writes(std::uint32_t count) {
    StepPlan plan;
    plan.admitted = {{SeqId(1), 0}};
    plan.tables = {{SeqId(1), 0, 0, 3}};
    plan.appended_blocks = {BlockId(0), BlockId(1), BlockId(2)};
    plan.slices = {{SeqId(1), 0, count, 0, count == 11}};
    return plan;
  }
  /// The reader is admitted behind both blocks.
  void add_reader(StepPlan& plan) {
    plan.admitted.push_back({SeqId(2), 8});
    plan.tables.push_back(
        {SeqId(2), 0, static_cast<std::uint32_t>(plan.appended_blocks.size()), 3});
    for (const std::uint32_t block : {0U, 1U, 3U}) plan.appended_blocks.emplace_back(block);
    plan.slices.push_back({SeqId(2), 8, 3, 0, true});
  }

  std::unique_ptr<ModelExecutor> executor_;
};

TEST_P(PlantedBugDeathTest, a_prefix_that_is_visible_once_it_is_written_is_read) {
  execute(writes(11));
  StepPlan plan;
  plan.step = StepId(1);
  add_reader(plan);
  StepResult result;
  EXPECT_TRUE(executor_->execute(plan, result).has_value());
  EXPECT_EQ(result.tokens.size(), 1U);
}

TEST_P(PlantedBugDeathTest, a_prefix_that_is_visible_before_its_chunk_has_run_is_caught) {
  execute(writes(6));  // "the ca"
  StepPlan plan;
  plan.step = StepId(1);
  add_reader(plan);
  EXPECT_DEATH(execute(plan),
               "step 1, sequence 2: slot 2 of block 1: expected token 117 at position 6 with "
               "prefix hash [0-9]+, written before step 1; found nothing");
}

TEST_P(PlantedBugDeathTest, a_prefix_that_is_visible_in_the_step_that_writes_it_is_caught) {
  StepPlan plan = writes(11);
  add_reader(plan);
  EXPECT_DEATH(
      execute(plan),
      "step 0, sequence 2: slot 0 of block 0: expected token 117 at position 0 with "
      "prefix hash [0-9]+, written before step 0; found token 117 at position 0 with prefix hash "
      "[0-9]+, 4 layers written by step 0");
}

TEST_P(PlantedBugDeathTest, a_block_that_still_holds_somebody_elses_kv_is_caught) {
  executor_->begin(SeqId(3), request_of("the dog sat"));
  StepPlan plan = writes(11);
  plan.admitted[0].seq = plan.tables[0].seq = plan.slices[0].seq = SeqId(3);
  execute(plan);
  plan = {};
  plan.step = StepId(1);
  add_reader(plan);
  EXPECT_DEATH(
      execute(plan),
      "slot 0 of block 1: expected token 100 at position 4 .*found token 101 at position 4");
}

FORGE_FOR_EACH_TARGET_THAT_FORKS(PlantedBugDeathTest);

}  // namespace
}  // namespace forge::executor
