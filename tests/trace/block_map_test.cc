#include "forge/trace/block_map.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "forge/core/scheduler.h"
#include "trace/hash_executor.h"
#include "trace/recorded_run.h"

namespace forge::trace {
namespace {

TEST(BlockMap, symbols_cycle_through_digits_and_letters) {
  EXPECT_EQ(BlockMap::symbol(SeqId{1}), '1');
  EXPECT_EQ(BlockMap::symbol(SeqId{10}), 'a');
  EXPECT_EQ(BlockMap::symbol(SeqId{61}), 'Z');
  EXPECT_EQ(BlockMap::symbol(SeqId{62}), '0');
}

TEST(BlockMap, plans_alone_give_the_tables_of_the_scheduler) {
  const SchedulerConfig config{.cache = {.num_blocks = 40, .block_size = 2},
                               .batch = {.max_batch_size = 6},
                               .prefix_cache = PrefixCacheKind::none};
  testing::HashExecutor executor;
  executor.drafts = 5;
  Scheduler scheduler(config);
  for (std::size_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(scheduler.submit(testing::request(1 + i, 30)));
  }
  BlockMap map(config.cache.num_blocks, config.cache.block_size);
  StepResult result;
  std::size_t preemptions = 0;
  while (scheduler.has_work()) {
    const StepPlan& plan = scheduler.schedule();
    ASSERT_TRUE(map.apply(plan));
    preemptions += plan.preempted.size();
    std::string expected(config.cache.num_blocks, '.');
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

TEST(BlockMap, with_a_prefix_cache_whoever_runs_has_the_table_of_the_scheduler) {
  const SchedulerConfig config{.cache = {.num_blocks = 24, .block_size = 2, .num_host_blocks = 8},
                               .batch = {.max_batch_size = 6, .max_batch_tokens = 9},
                               .prefill_chunk_size = 4};
  testing::HashExecutor executor;
  executor.drafts = 3;
  Scheduler scheduler(config);
  for (std::size_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(scheduler.submit(testing::request(1 + i, 20)));
  }
  BlockMap map(config.cache.num_blocks, config.cache.block_size);
  StepResult result;
  std::uint32_t most_shared = 0;
  while (scheduler.has_work()) {
    const StepPlan& plan = scheduler.schedule();
    const auto applied = map.apply(plan);
    ASSERT_TRUE(applied) << applied.error();
    for (const Slice& slice : plan.slices) {
      const std::span<const BlockId> table = scheduler.cache().block_table(slice.seq).value();
      ASSERT_TRUE(std::ranges::equal(map.table(slice.seq), table)) << "step " << plan.step.value;
    }
    most_shared = std::max(most_shared, map.shared_count());
    ASSERT_TRUE(executor.execute(plan, result));
    scheduler.commit(plan, result);
  }
  EXPECT_GT(most_shared, 0u);
  EXPECT_EQ(map.held_count(), 0u);
}

TEST(BlockMap, deltas_that_contradict_the_plans_before_are_errors) {
  const auto append = [](std::uint64_t seq, std::uint32_t truncated_to, std::uint32_t block) {
    StepPlan plan;
    plan.tables = {{SeqId{seq}, truncated_to, 0, 1}};
    plan.appended_blocks = {BlockId{block}};
    return plan;
  };
  BlockMap map(4, 2);
  ASSERT_TRUE(map.apply(append(1, 0, 3)));
  EXPECT_EQ(map.apply(append(2, 0, 4)).error(), "table of sequence 2: block 4 is not in 0..3");
  EXPECT_EQ(map.apply(append(1, 2, 0)).error(), "table of sequence 1: truncated to 2 of 1 blocks");

  StepPlan plan = append(1, 1, 2);
  plan.slices = {{SeqId{1}, 0, 5, 0, true}};
  EXPECT_EQ(map.apply(plan).error(), "slice of sequence 1: it ends at token 5, its table at 4");
}

TEST(BlockMap, a_block_in_several_tables_is_shared_until_all_but_one_release_it) {
  StepPlan plan;
  plan.tables = {{SeqId{1}, 0, 0, 2}, {SeqId{2}, 0, 2, 2}};
  plan.appended_blocks = {BlockId{0}, BlockId{1}, BlockId{0}, BlockId{2}};
  plan.slices = {{SeqId{1}, 2, 1, 0, true}, {SeqId{2}, 2, 1, 0, true}};
  BlockMap map(4, 2);
  ASSERT_TRUE(map.apply(plan));
  EXPECT_EQ(map.text(), "+12.");
  EXPECT_EQ(map.holders(BlockId{0}), 2u);
  EXPECT_EQ(map.holder(BlockId{0}), std::nullopt);
  EXPECT_EQ(map.held_count(), 3u);
  EXPECT_EQ(map.shared_count(), 1u);

  StepPlan next;
  next.finished = {{SeqId{1}, FinishReason::eos}};
  ASSERT_TRUE(map.apply(next));
  EXPECT_EQ(map.text(), "2.2.");
  EXPECT_EQ(map.shared_count(), 0u);
}

TEST(BlockMap, two_slices_that_write_one_block_are_an_error) {
  StepPlan plan;
  plan.tables = {{SeqId{1}, 0, 0, 1}, {SeqId{2}, 0, 0, 1}};
  plan.appended_blocks = {BlockId{3}};
  plan.slices = {{SeqId{1}, 0, 2, 0, true}, {SeqId{2}, 0, 1, 0, true}};
  BlockMap map(4, 2);
  EXPECT_EQ(map.apply(plan).error(), "slice of sequence 2: block 3 is written twice");
}

}  // namespace
}  // namespace forge::trace
