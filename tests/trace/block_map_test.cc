#include "forge/trace/block_map.h"

#include <gtest/gtest.h>

#include "forge/core/scheduler.h"
#include "trace/hash_executor.h"
#include "trace/recorded_run.h"

namespace forge {
namespace {

TEST(BlockMap, symbols_cycle_through_digits_and_letters) {
  EXPECT_EQ(BlockMap::symbol(SeqId{1}), '1');
  EXPECT_EQ(BlockMap::symbol(SeqId{10}), 'a');
  EXPECT_EQ(BlockMap::symbol(SeqId{61}), 'Z');
  EXPECT_EQ(BlockMap::symbol(SeqId{62}), '0');
}

TEST(BlockMap, plans_alone_give_the_tables_of_the_scheduler) {
  const SchedulerConfig config{.num_blocks = 40, .block_size = 2, .max_batch_size = 6};
  testing::HashExecutor executor;
  executor.drafts = 5;
  Scheduler scheduler(config);
  for (std::size_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(scheduler.submit(testing::request(1 + i, 30)));
  }
  BlockMap map(config.num_blocks);
  StepResult result;
  std::size_t preemptions = 0;
  while (scheduler.has_work()) {
    const StepPlan& plan = scheduler.schedule();
    ASSERT_TRUE(map.apply(plan));
    preemptions += plan.preempted.size();
    std::string expected(config.num_blocks, '.');
    for (const SequenceView& view : scheduler.running()) {
      const std::span<const BlockId> table = scheduler.cache().block_table(view.seq).value();
      for (const BlockId block : table) {
        expected[block.value] = BlockMap::symbol(view.seq);
      }
    }
    ASSERT_EQ(map.text(), expected) << "step " << plan.step.value;
    ASSERT_TRUE(executor.execute(plan, result));
    scheduler.commit(plan, result);
  }
  EXPECT_GT(preemptions, 0u);
}

TEST(BlockMap, deltas_that_contradict_the_plans_before_are_errors) {
  const auto append = [](std::uint64_t seq, std::uint32_t truncated_to, std::uint32_t block) {
    StepPlan plan;
    plan.tables = {{SeqId{seq}, truncated_to, 0, 1}};
    plan.appended_blocks = {BlockId{block}};
    return plan;
  };
  BlockMap map(4);
  ASSERT_TRUE(map.apply(append(1, 0, 3)));
  EXPECT_EQ(map.apply(append(2, 0, 3)).error(),
            "table of sequence 2: block 3 is held by sequence 1");
  EXPECT_EQ(map.apply(append(2, 0, 4)).error(), "table of sequence 2: block 4 is not in 0..3");
  EXPECT_EQ(map.apply(append(1, 2, 0)).error(), "table of sequence 1: truncated to 2 of 1 blocks");
}

}  // namespace
}  // namespace forge
