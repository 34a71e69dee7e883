// Scheduler::snapshot and restore: what a snapshot says, and which ones are refused.
// property_tests/snapshot_properties.cc holds a restored scheduler against one that simply goes on.
#include <gmock/gmock.h>

#include <functional>
#include <utility>

#include "core/policy_story.h"

namespace forge {
namespace {

using ::testing::HasSubstr;
using testing::prompt;
using testing::small;
using testing::with;
using testing::World;

SchedulerConfig with_cache() {
  SchedulerConfig config = small(8, 2);
  config.cache.num_host_blocks = 4;
  config.batch.max_batch_size = 2;
  config.prefix_cache = PrefixCacheKind::radix;
  return config;
}

/// Sequence 2 decodes, 3 waits; session 7 keeps what sequence 1 left.
World busy() {
  World world(with_cache());
  world.submit(with(prompt(0, 4, 1), SessionId{7}));
  world.finish();
  world.submit(prompt(10, 3, 5));
  world.submit(prompt(20, 3, 5));
  world.submit(prompt(30, 3, 5));
  world.step();
  world.step();
  return world;
}

std::string refusal(const std::function<void(SchedulerSnapshot&)>& damage) {
  const World world = busy();
  SchedulerSnapshot snapshot = world.scheduler.snapshot();
  EXPECT_TRUE(Scheduler::restore(with_cache(), snapshot).has_value());
  damage(snapshot);
  const auto restored = Scheduler::restore(with_cache(), snapshot);
  return restored ? "" : restored.error();
}

TEST(SchedulerSnapshot, says_who_runs_who_waits_and_what_is_kept) {
  const SchedulerSnapshot snapshot = busy().scheduler.snapshot();
  EXPECT_EQ(snapshot.next_seq, SeqId{5});
  ASSERT_EQ(snapshot.sequences.size(), 3U);
  EXPECT_EQ(snapshot.running, (std::vector{SeqId{2}, SeqId{3}}));
  EXPECT_TRUE(snapshot.finishing.empty());
  EXPECT_EQ(snapshot.sequences[2].view.state, SequenceState::waiting);
  EXPECT_EQ(snapshot.sequences[0].tokens.size(), 5U) << "three of the prompt, two sampled";
  ASSERT_EQ(snapshot.sessions.size(), 1U);
  EXPECT_EQ(snapshot.sessions[0].session, SessionId{7});
  EXPECT_EQ(snapshot.sessions[0].pinned.size(), 2U);
  EXPECT_EQ(snapshot.cache.tables.size(), 2U);
  EXPECT_EQ(snapshot.host.free.size(), 4U);
}

TEST(SchedulerSnapshot, of_a_new_scheduler_is_that_of_nothing) {
  const Scheduler fresh(with_cache());
  const auto restored = Scheduler::restore(with_cache(), fresh.snapshot());
  ASSERT_TRUE(restored.has_value());
  EXPECT_EQ(restored->state_digest(), fresh.state_digest());
}

TEST(SchedulerSnapshot, a_table_that_began_before_the_index_was_cleared_publishes_nothing_more) {
  World world(with_cache());
  world.submit(prompt(0, 3, 5));
  world.step();
  World cleared = world;
  cleared.scheduler.clear_prefix_cache();
  EXPECT_NE(world.scheduler.state_digest(), cleared.scheduler.state_digest());
  Scheduler restored = Scheduler::restore(with_cache(), cleared.scheduler.snapshot()).value();
  const StepPlan plan = restored.schedule();
  restored.commit(plan, testing::one_token_each(plan, 0));
  EXPECT_TRUE(restored.cache_delta().stored.empty());
}

TEST(SchedulerSnapshot, one_that_contradicts_itself_is_refused_in_a_sentence) {
  using S = SchedulerSnapshot;
  EXPECT_THAT(refusal([](S& s) { s.cache.free.push_back(s.cache.free[0]); }),
              HasSubstr("is not there, or is there twice"));
  EXPECT_THAT(refusal([](S& s) { s.cache.free.pop_back(); }),
              HasSubstr("is neither free nor held"));
  EXPECT_THAT(refusal([](S& s) { s.cache.cached[1].parent = s.cache.cached[1].block; }),
              HasSubstr("does not stand before it with the same salt"));
  EXPECT_THAT(refusal([](S& s) { s.cache.cached[0].tokens.pop_back(); }),
              HasSubstr("has 1 tokens, accepted are 2"));
  EXPECT_THAT(refusal([](S& s) { s.cache.tables[0].blocks.pop_back(); }),
              HasSubstr("table of sequence 2 has"));
  EXPECT_THAT(refusal([](S& s) { s.cache.tables[0].blocks[1] = BlockId{99}; }),
              HasSubstr("block 99 is not in use"));
  EXPECT_THAT(refusal([](S& s) { s.sessions[0].pinned.push_back(s.cache.free[0]); }),
              HasSubstr("is not in use"));
  EXPECT_THAT(refusal([](S& s) { s.sequences[0].view.seq = SeqId{5}; }), HasSubstr("ids ascend"));
  EXPECT_THAT(refusal([](S& s) { s.sequences[0].view.output_tokens = 5; }),
              HasSubstr("sequence 2: output_tokens reaches max_new_tokens"));
  EXPECT_THAT(refusal([](S& s) { s.sequences[0].view.max_new_tokens = 14; }),
              HasSubstr("together at most 16"));
  EXPECT_THAT(refusal([](S& s) { s.sequences[0].weight = 0; }), HasSubstr("weight"));
  EXPECT_THAT(refusal([](S& s) { s.sequences[0].tokens.pop_back(); }), HasSubstr("4 tokens"));
  EXPECT_THAT(refusal([](S& s) { s.sequences[0].draft_history = 100; }),
              HasSubstr("draft_history"));
  EXPECT_THAT(refusal([](S& s) { s.sequences[0].target_agrees = 9; }), HasSubstr("agrees on 9"));
  EXPECT_THAT(refusal([](S& s) { s.sequences[0].view.computed_tokens = 3; }),
              HasSubstr("it decodes with KV of 3 tokens of 5"));
  EXPECT_THAT(refusal([](S& s) { s.running.pop_back(); }), HasSubstr("contradict each other"));
  EXPECT_THAT(refusal([](S& s) { s.running[1] = s.running[0]; }), HasSubstr("is there twice"));
  EXPECT_THAT(refusal([](S& s) { s.running.emplace_back(4); }), HasSubstr("more than 2"));
  EXPECT_THAT(refusal([](S& s) { s.finishing.emplace_back(3); }),
              HasSubstr("contradict each other"));
  EXPECT_THAT(refusal([](S& s) { s.sessions[0].idle_since = s.next_step; }),
              HasSubstr("which is to come"));
  EXPECT_THAT(refusal([](S& s) { std::swap(s.cache.tables[0].blocks, s.cache.tables[1].blocks); }),
              HasSubstr("holds other tokens"));
  EXPECT_THAT(refusal([](S& s) {
                for (CachedBlock& cached : s.cache.cached) cached.parent.reset();
              }),
              HasSubstr("is not on its path of the index"))
      << "what the parts promise each other is asked of the whole";
}

}  // namespace
}  // namespace forge
