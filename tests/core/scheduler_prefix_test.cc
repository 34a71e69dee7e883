// Scheduler: prefix caching and sessions. A story each.
#include "core/policy_story.h"

namespace forge {
namespace {

using testing::prompt;
using testing::small;
using testing::with;
using testing::World;

SchedulerConfig caching(std::uint32_t num_blocks) {
  SchedulerConfig config = small(num_blocks, 2);
  config.prefix_cache = PrefixCacheKind::radix;
  return config;
}

TEST(PrefixCache, the_second_request_starts_behind_the_common_prefix) {
  World world(caching(16));
  world.submit(prompt(0, 5, 1));
  EXPECT_EQ(world.step(), "0 | +1 | 1:0+0,1,2 | 1:0+5*");
  world.submit(prompt(0, 6, 1));  // four of its tokens are cached
  EXPECT_EQ(world.step(), "1 | !1 +2@4 | 2:0+0,1,2 | 2:4+2*");
  const PrefixCacheStatistics statistics = world.scheduler.prefix_cache_statistics();
  EXPECT_EQ(statistics,
            (PrefixCacheStatistics{.queries = 2, .hits = 1, .query_tokens = 11, .hit_tokens = 4}));
}

TEST(PrefixCache, nothing_is_shared_before_the_step_that_wrote_it_is_committed) {
  World world(caching(16));
  world.submit(prompt(0, 4, 3));
  world.submit(prompt(0, 4, 3));
  EXPECT_EQ(world.step(), "0 | +1 +2 | 1:0+0,1 2:0+2,3 | 1:0+4* 2:0+4*");
  EXPECT_EQ(world.step(), "1 | | 1:2+3 2:0+0,1,2 | 1:4+1 2:4+1")
      << "the second one's equal blocks have given way to the first one's";
}

TEST(PrefixCache, a_prompt_that_is_cached_whole_runs_its_last_token_in_a_copy) {
  World world(caching(16));
  world.submit(prompt(0, 4, 1));
  world.step();
  world.submit(prompt(0, 4, 2));
  EXPECT_EQ(world.step(), "1 | !1 +2@3 | [1>2] | 2:0+0,2 | 2:3+1*");
}

TEST(PrefixCache, keeps_so_many_blocks_that_nobody_uses_the_last_released_of_them) {
  SchedulerConfig config = caching(16);
  config.prefix_cache_max = 1;
  World world(config);
  world.submit(prompt(0, 6, 1));
  world.step();
  world.step();
  EXPECT_EQ(world.scheduler.cache().index()->size(), 1U);
  EXPECT_EQ(world.scheduler.prefix_cache_statistics().evictions, 2U);
  world.submit(prompt(0, 6, 1));
  EXPECT_EQ(world.step(), "2 | +2@2 | 2:0+0,1,2 | 2:2+4*") << "the beginning is what was kept";
}

TEST(PrefixCache, without_room_for_the_copy_its_tokens_are_run_again) {
  World world(caching(3));
  world.submit(prompt(0, 4, 1));
  world.step();
  world.submit(prompt(50, 1, 3));
  EXPECT_EQ(world.step(), "1 | !1 +2 | 2:0+2 | 2:0+1*");
  world.submit(prompt(0, 4, 1));
  EXPECT_EQ(world.step(), "2 | +3@2 | 3:0+0,1 | 2:1+1 3:2+2*") << "block 1 makes room for itself";
}

TEST(PrefixCache, the_output_of_a_request_is_cached_too) {
  World world(caching(16));
  Request request = prompt(0, 3, 4);
  world.submit(request);
  world.finish();  // outputs 7 7 7 7, the KV of all but the last
  for (int i = 0; i < 5; ++i) request.prompt.emplace_back(7u);
  world.submit(request);
  EXPECT_EQ(world.schedule(), "5 | +2@6 | 2:0+0,1,2,3 | 2:6+2*");
}

TEST(PrefixCache, a_preempted_sequence_finds_its_own_prefix_again) {
  World world(caching(4));
  world.submit(prompt(0, 4, 3));
  world.submit(prompt(50, 3, 4));
  world.step();
  EXPECT_EQ(world.step(), "1 | -2 | 1:2+3 | 1:4+1");
  world.step();
  EXPECT_EQ(world.step(), "3 | !1 ^2@2 | 2:0+2,3 | 2:2+2*");
  EXPECT_EQ(world.scheduler.prefix_cache_statistics().recovered_tokens, 2u);
}

TEST(PrefixCache, a_request_may_leave_it_alone) {
  World world(caching(16));
  Request request = prompt(0, 5, 1);
  request.prefix_cache = PrefixCacheUse::disable;
  world.submit(request);
  world.step();
  world.submit(prompt(0, 5, 1));
  EXPECT_EQ(world.step(), "1 | !1 +2 | 2:0+0,1,2 | 2:0+5*");
  world.submit(request);
  EXPECT_EQ(world.step(), "2 | !2 +3 | 3:0+2,3,4 | 3:0+5*");
}

TEST(PrefixCache, clear_forgets_all_of_it_and_disturbs_nobody) {
  World world(caching(16));
  world.submit(prompt(0, 4, 8));
  world.step();
  world.scheduler.clear_prefix_cache();
  EXPECT_EQ(check_invariants(world.scheduler), std::nullopt);
  world.submit(prompt(0, 4, 1));
  EXPECT_EQ(world.step(), "1 | +2 | 1:2+2 2:0+3,4 | 1:4+1 2:0+4*");
  world.finish();
  world.scheduler.clear_prefix_cache();
  EXPECT_EQ(world.scheduler.cache().pool().used_count(), 0u);
}

TEST(Sessions, the_kv_of_a_turn_stays_while_others_fill_the_cache) {
  World world(caching(6));
  constexpr SessionId kSession{42};
  world.submit(with(prompt(0, 4, 1), kSession));
  world.finish();
  world.submit(prompt(50, 7, 1));  // needs all the rest
  world.finish();
  world.submit(with(prompt(0, 6, 1), kSession));
  EXPECT_NE(world.schedule().find("+3@4"), std::string::npos);
  world.commit();
}

TEST(Sessions, without_a_session_others_take_the_memory) {
  World world(caching(6));
  world.submit(prompt(0, 4, 1));
  world.finish();
  world.submit(prompt(50, 11, 1));
  world.finish();
  world.submit(prompt(0, 6, 1));
  EXPECT_EQ(world.schedule().find("+3@"), std::string::npos);
  world.commit();
}

TEST(Sessions, a_session_ends_when_released_or_idle_for_too_long) {
  SchedulerConfig config = caching(6);
  config.session_idle_steps = 3;
  World world(config);
  world.submit(with(prompt(0, 4, 1), SessionId{1}));
  world.submit(with(prompt(50, 4, 1), SessionId{2}));
  world.finish();
  EXPECT_EQ(world.scheduler.cache().available_count(), 2u);
  EXPECT_TRUE(world.scheduler.release_session(SessionId{1}));
  EXPECT_FALSE(world.scheduler.release_session(SessionId{1}).has_value());
  EXPECT_EQ(world.scheduler.cache().available_count(), 4u);
  world.submit(prompt(90, 1, 3));
  world.step();
  EXPECT_TRUE(world.scheduler.sessions().contains(SessionId{2}));
  world.step();
  world.step();
  EXPECT_FALSE(world.scheduler.sessions().contains(SessionId{2}));
}

TEST(Sessions, a_turn_that_has_ended_leaves_nothing_to_a_session_released_since) {
  World world(caching(6));
  world.submit(with(prompt(0, 4, 1), SessionId{1}));
  world.step();  // its only token is there; the next plan retires it
  EXPECT_TRUE(world.scheduler.release_session(SessionId{1}));
  EXPECT_FALSE(world.scheduler.release_session(SessionId{1}).has_value());
  world.finish();
  EXPECT_EQ(world.scheduler.cache().available_count(), 6u);
}

TEST(Sessions, pins_give_way_when_nothing_could_run_otherwise) {
  World world(caching(4));
  world.submit(with(prompt(0, 4, 1), SessionId{1}));
  world.submit(with(prompt(50, 4, 1), SessionId{2}));
  world.finish();
  EXPECT_EQ(world.scheduler.cache().available_count(), 0u);
  world.submit(prompt(90, 3, 1));
  EXPECT_NE(world.step().find("+3"), std::string::npos);
  EXPECT_FALSE(world.scheduler.sessions().contains(SessionId{1})) << "idle for longest";
  EXPECT_TRUE(world.scheduler.sessions().contains(SessionId{2})) << "one was enough";
}

TEST(Sessions, a_cancelled_turn_leaves_the_pins_of_the_turn_before) {
  World world(caching(8));
  world.submit(with(prompt(0, 4, 1), SessionId{1}));
  world.finish();
  world.submit(with(prompt(0, 8, 4), SessionId{1}));
  world.step();
  ASSERT_TRUE(world.scheduler.cancel(SeqId{2}));
  world.finish();
  EXPECT_EQ(world.scheduler.sessions().all().at(SessionId{1}).pinned.size(), 2u);
}

TEST(StateDigest, is_equal_for_equal_futures_and_only_for_those) {
  World one(caching(8));
  one.submit(prompt(0, 4, 2));
  World other = one;
  EXPECT_EQ(one.scheduler.state_digest(), other.scheduler.state_digest());
  one.step();
  EXPECT_NE(one.scheduler.state_digest(), other.scheduler.state_digest());
  other.step();
  EXPECT_EQ(one.scheduler.state_digest(), other.scheduler.state_digest());
  other.scheduler.clear_prefix_cache();
  EXPECT_NE(one.scheduler.state_digest(), other.scheduler.state_digest());
}

}  // namespace
}  // namespace forge
