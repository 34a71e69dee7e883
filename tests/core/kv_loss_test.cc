// Scheduler: the target is lost in a step, and has been opened again.
#include "core/policy_story.h"

namespace forge {
namespace {

using testing::prompt;
using testing::small;
using testing::with;
using testing::World;

void commit_loss(World& world) {
  StepResult result;
  lose_step(world.scheduler.plan(), result);
  world.scheduler.commit(world.scheduler.plan(), result);
  EXPECT_EQ(check_invariants(world.scheduler), std::nullopt);
}

// Two sequences decode when the target is lost in step 2. The tokens of that step were never
// sampled; those before it are known. Both come back in step 3 and run all their tokens again.
TEST(KvLoss, everything_that_ran_runs_again_from_its_first_token) {
  World world(small(16));
  world.submit(prompt(0, 2, 4));
  world.submit(prompt(10, 3, 4));
  EXPECT_EQ(world.step(), "0 | +1 +2 | 1:0+0,1 2:0+2,3,4 | 1:0+2* 2:0+3*");
  EXPECT_EQ(world.step(), "1 | | 1:2+5 2:3+6 | 1:2+1 2:3+1");
  EXPECT_EQ(world.schedule(), "2 | | 1:3+7 2:4+8 | 1:3+1 2:4+1");
  commit_loss(world);
  EXPECT_EQ(world.step(), "3 | ^1 ^2 | 1:0+2,3,4,6 2:0+8,0,1,5,7 | 1:0+4* 2:0+5*");
  EXPECT_EQ(world.step(), "4 | | 1:4+9 2:5+10 | 1:4+1 2:5+1");
  EXPECT_EQ(world.step(), "5 | !1 !2 | |") << "four tokens each";
}

TEST(KvLoss, what_has_begun_comes_back_before_anything_new) {
  SchedulerConfig config = small(16);
  config.batch.max_batch_size = 1;
  World world(config);
  world.submit(prompt(0, 2, 3));
  world.submit(prompt(10, 2, 3));
  world.step();
  world.schedule();
  commit_loss(world);
  EXPECT_EQ(world.schedule().substr(0, 6), "2 | ^1");
}

TEST(KvLoss, swapped_sequences_and_sessions_have_no_kv_either) {
  SchedulerConfig config = small(6);
  config.cache.num_host_blocks = 8;
  config.preemption = PreemptionPolicy::swap;
  config.prefix_cache = PrefixCacheKind::hash;
  World world(config);
  world.submit(with(prompt(0, 1, 1), SessionId{1}));
  world.finish();
  world.submit(prompt(10, 2, 3));
  world.submit(prompt(20, 2, 3));
  while (world.scheduler.host().sequence_count() == 0) world.step();
  world.schedule();
  commit_loss(world);
  EXPECT_EQ(world.scheduler.host().sequence_count(), 0U);
  EXPECT_EQ(world.scheduler.cache().pool().used_count(), 0U);
  EXPECT_EQ(world.scheduler.cache().index()->size(), 0U);
  EXPECT_TRUE(world.scheduler.sessions().all().empty());
  EXPECT_TRUE(world.scheduler.cache_delta().cleared);
  world.finish();
}

TEST(KvLoss, a_sequence_that_was_cancelled_in_the_step_ends) {
  World world(small(8));
  const SeqId seq = world.submit(prompt(0, 2, 4));
  world.schedule();
  ASSERT_TRUE(world.scheduler.cancel(seq));
  commit_loss(world);
  EXPECT_EQ(world.step(), "1 | !1 | |");
}

TEST(KvLoss, is_a_part_of_the_digest_of_a_result_only_where_it_happens) {
  StepPlan plan;
  plan.slices = {{SeqId{1}, 0, 2, 0, true}};
  StepResult lost;
  lose_step(plan, lost);
  StepResult empty = lost;
  empty.kv_lost = false;
  EXPECT_NE(digest(lost), digest(empty));
}

TEST(KvLoss, of_its_step_a_target_takes_in_who_came_and_went) {
  StepPlan plan;
  plan.step = StepId{3};
  plan.admitted = {{SeqId{5}, 2}};
  plan.resumed = {{SeqId{4}, 7}};
  plan.preempted = {{SeqId{2}, PreemptionMode::swap}};
  plan.finished = {{SeqId{1}, FinishReason::eos}};
  plan.copies = {{CopyKind::swap_out, BlockId{1}, BlockId{0}},
                 {CopyKind::within, BlockId{2}, BlockId{3}},
                 {CopyKind::swap_in, BlockId{4}, BlockId{5}}};
  plan.tables = {{SeqId{5}, 0, 0, 1}};
  plan.appended_blocks = {BlockId{3}};
  plan.slices = {{SeqId{5}, 0, 1, 0, true}};
  StepPlan books = plan;
  books.copies.resize(1);
  books.tables.clear();
  books.appended_blocks.clear();
  books.slices.clear();
  EXPECT_EQ(bookkeeping_of(plan), books);
}

}  // namespace
}  // namespace forge
