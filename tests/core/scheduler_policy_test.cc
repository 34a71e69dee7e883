// Scheduler: chunked prefill, priorities, swapping, prefix caching, sessions, deadlines. A story
// each; preemption, admission and drafts are in scheduler_test.cc.
#include <gtest/gtest.h>

#include "core/schedule_table.h"
#include "forge/core/invariants.h"
#include "forge/core/scheduler.h"

namespace forge {
namespace {

using testing::one_token_each;
using testing::row;

/// Small blocks, no prefix cache unless a test is about it.
SchedulerConfig small(std::uint32_t num_blocks, std::uint32_t block_size = 1) {
  return {
      .num_blocks = num_blocks, .block_size = block_size, .prefix_cache = PrefixCacheKind::none};
}

/// A prompt of `count` tokens, `first`, `first` + 1, ...
Request prompt(std::uint32_t first, std::uint32_t count, std::uint32_t max_new) {
  Request request{.max_new_tokens = max_new};
  for (std::uint32_t i = 0; i < count; ++i) request.prompt.emplace_back(first + i);
  return request;
}

Request with(Request request, Priority priority) {
  request.priority = priority;
  return request;
}
Request with(Request request, SessionId session) {
  request.session = session;
  return request;
}

/// A scheduler, its events in short form, invariants after each.
class World {
 public:
  explicit World(const SchedulerConfig& config) : scheduler(config) {}

  SeqId submit(const Request& request) { return scheduler.submit(request).value(); }

  std::string schedule() {
    const std::string text = row(scheduler.schedule());
    EXPECT_EQ(check_invariants(scheduler), std::nullopt);
    return text;
  }
  void commit(std::uint32_t drafts = 0) {
    scheduler.commit(scheduler.plan(), one_token_each(scheduler.plan(), drafts));
    EXPECT_EQ(check_invariants(scheduler), std::nullopt);
  }
  std::string step(std::uint32_t drafts = 0) {
    const std::string text = schedule();
    commit(drafts);
    return text;
  }
  /// Steps until there is no work; returns how many that took.
  int finish() {
    int steps = 0;
    for (; scheduler.has_work(); ++steps) {
      EXPECT_LT(steps, 10000);
      step();
    }
    return steps;
  }

  Scheduler scheduler;
};

// docs:begin chunked-prefill
TEST(ChunkedPrefill, a_long_prompt_runs_in_chunks_beside_the_decodes) {
  SchedulerConfig config = small(64);
  config.prefill_chunk_size = 4;
  World world(config);
  world.submit(prompt(0, 2, 9));
  EXPECT_EQ(world.step(), "0 | +1 | 1:0,1 | 1[0,2)");
  world.submit(prompt(0, 9, 2));
  EXPECT_EQ(world.step(), "1 | +2 | 1:2 2:3,4,5,6,7,8,9,10,11 | 1[2,3) 2[0,4).");
  EXPECT_EQ(world.step(), "2 | | 1:12 | 1[3,4) 2[4,8).");
  EXPECT_EQ(world.step(), "3 | | 1:13 | 1[4,5) 2[8,9)");
  EXPECT_EQ(world.step(), "4 | | 1:14 2:15 | 1[5,6) 2[9,10)");
}
// docs:end chunked-prefill

TEST(ChunkedPrefill, the_budget_is_for_decodes_first_and_then_for_several_prompts) {
  SchedulerConfig config = small(64);
  config.max_batch_size = 4;
  config.max_batch_tokens = 6;
  config.prefill_chunk_size = 4;
  World world(config);
  world.submit(prompt(0, 1, 9));
  EXPECT_EQ(world.step(), "0 | +1 | 1:0 | 1[0,1)");
  world.submit(prompt(0, 7, 1));
  world.submit(prompt(0, 3, 1));
  EXPECT_EQ(world.step(), "1 | +2 +3 | 1:1 2:2,3,4,5,6,7,8 3:9,10,11 | 1[1,2) 2[0,4). 3[0,1).");
  EXPECT_EQ(world.step(), "2 | | 1:12 | 1[2,3) 2[4,7) 3[1,3)");
}

TEST(ChunkedPrefill, a_prompt_under_way_waits_when_the_budget_is_used_up) {
  SchedulerConfig config = small(64);
  config.max_batch_size = 3;
  config.max_batch_tokens = 3;
  World world(config);
  world.submit(prompt(0, 6, 9));
  world.submit(prompt(0, 6, 9));
  EXPECT_EQ(world.step(), "0 | +1 | 1:0,1,2,3,4,5 | 1[0,3).");
  EXPECT_EQ(world.step(), "1 | | | 1[3,6)");
  EXPECT_EQ(world.step(), "2 | +2 | 1:6 2:7,8,9,10,11,12 | 1[6,7) 2[0,2).");
  EXPECT_EQ(world.step(2), "3 | | 1:13 | 1[7,8) 2[2,4).");
  EXPECT_EQ(world.step(2), "4 | | 1:14,15,16 | 1[8,11)d2") << "drafts before prompts";
  EXPECT_EQ(world.step(0), "5 | | 1:15,16,17 | 1[9,12)d2");
  EXPECT_EQ(world.step(0), "6 | | 1:16 | 1[10,11) 2[4,6)");
}

TEST(ChunkedPrefill, drafts_share_what_the_budget_leaves_in_order_of_admission) {
  SchedulerConfig config = small(64);
  config.max_batch_size = 3;
  config.max_batch_tokens = 6;
  World world(config);
  for (int i = 0; i < 3; ++i) world.submit(prompt(0, 1, 20));
  world.step(2);
  EXPECT_EQ(world.step(), "1 | | 1:3,4,5 2:6,7 3:8 | 1[1,4)d2 2[1,3)d1 3[1,2)");
}

TEST(ChunkedPrefill, a_prompt_can_be_preempted_half_way_and_starts_again) {
  SchedulerConfig config = small(8);
  config.prefill_chunk_size = 2;
  World world(config);
  world.submit(prompt(0, 2, 6));
  world.step();
  world.submit(prompt(0, 5, 1));
  EXPECT_EQ(world.step(), "1 | +2 | 1:2 2:3,4,5,6,7 | 1[2,3) 2[0,2).");
  EXPECT_EQ(world.step(), "2 | -2 | 1:3 | 1[3,4)");
  EXPECT_EQ(world.scheduler.view(SeqId{2})->computed_tokens, 0u);
  for (int i = 0; i < 3; ++i) world.step();
  EXPECT_EQ(world.step(), "6 | !1 ^2 | 2:0,1,2,3,4 | 2[0,2).");
}

TEST(Watermark, keeps_blocks_back_from_new_prompts_while_others_run) {
  SchedulerConfig config = small(10);
  config.watermark_blocks = 3;
  World world(config);
  world.submit(prompt(0, 9, 1));  // alone it may have them
  EXPECT_EQ(world.step(), "0 | +1 | 1:0,1,2,3,4,5,6,7,8 | 1[0,9)");
  world.submit(prompt(0, 4, 4));
  world.submit(prompt(0, 4, 4));
  EXPECT_EQ(world.step(), "1 | !1 +2 | 2:0,1,2,3 | 2[0,4)") << "4 of 6 would leave 2";
  EXPECT_EQ(world.step(), "2 | | 2:4 | 2[4,5)") << "decodes go on below it";
}

// docs:begin priorities
TEST(Priorities, a_higher_one_goes_first_and_a_lower_one_gives_way) {
  SchedulerConfig config = small(6);
  World world(config);
  world.submit(with(prompt(0, 2, 4), Priority::low));
  world.submit(prompt(0, 1, 4));
  world.submit(with(prompt(0, 1, 4), Priority::high));
  EXPECT_EQ(world.step(), "0 | +3 +2 +1 | 3:0 2:1 1:2,3 | 3[0,1) 2[0,1) 1[0,2)");
  EXPECT_EQ(world.scheduler.view(SeqId{1})->overtaken, 2u);
  EXPECT_EQ(world.scheduler.view(SeqId{2})->overtaken, 1u);
  EXPECT_EQ(world.scheduler.view(SeqId{3})->overtaken, 0u);
  EXPECT_EQ(world.step(), "1 | -1 | 3:2 2:3 | 3[1,2) 2[1,2)")
      << "as many output tokens as the others and the lowest id, but of low priority";
  EXPECT_EQ(world.scheduler.waiting().front().priority, Priority::low);
}
// docs:end priorities

TEST(Priorities, who_was_preempted_keeps_its_place) {
  SchedulerConfig config = small(6);
  World world(config);
  world.submit(prompt(0, 2, 4));
  world.submit(prompt(0, 2, 4));
  world.step();
  world.submit(prompt(0, 1, 1));
  world.step();
  world.submit(with(prompt(0, 1, 1), Priority::high));
  EXPECT_EQ(world.step(), "2 | -2 | 1:2 | 1[3,4)");
  EXPECT_EQ(world.scheduler.waiting()[0].seq, SeqId{4});
  EXPECT_EQ(world.scheduler.waiting()[1].seq, SeqId{2});
  EXPECT_EQ(world.scheduler.waiting()[2].seq, SeqId{3});
}

SchedulerConfig swapping(std::uint32_t num_blocks, std::uint32_t num_host_blocks) {
  SchedulerConfig config = small(num_blocks);
  config.num_host_blocks = num_host_blocks;
  config.preemption = PreemptionPolicy::swap;
  return config;
}

// docs:begin swap
TEST(Swap, a_victim_goes_to_the_host_and_comes_back_to_where_it_was) {
  World world(swapping(6, 4));
  world.submit(prompt(0, 2, 3));
  world.submit(prompt(0, 2, 3));
  world.step();
  world.step();
  EXPECT_EQ(world.step(), "2 | ~2 | 2>0 3>1 5>2 | 1:2 | 1[3,4)");
  EXPECT_EQ(world.scheduler.waiting().front().computed_tokens, 3u);
  EXPECT_EQ(world.scheduler.host().pool().used_count(), 3u);
  EXPECT_EQ(world.step(), "3 | !1 ^2@3 | 0<0 1<1 2<4 | 2:0,1,4,2 | 2[3,4)") << "decodes at once";
  EXPECT_EQ(world.scheduler.host().pool().used_count(), 0u);
}
// docs:end swap

TEST(Swap, without_room_on_the_host_the_victim_recomputes) {
  World world(swapping(6, 2));
  world.submit(prompt(0, 2, 3));
  world.submit(prompt(0, 2, 3));
  world.step();
  world.step();
  EXPECT_EQ(world.step(), "2 | -2 | 1:2 | 1[3,4)");
}

TEST(Swap, automatic_swaps_where_that_costs_less_than_recomputing) {
  for (const std::uint32_t setup : {0u, 1u}) {
    SchedulerConfig config = swapping(8, 8);
    config.block_size = 4;
    config.num_blocks = 3;
    config.preemption = PreemptionPolicy::automatic;
    config.swap_setup_cost = setup;  // a victim of 4 tokens in 1 block: setup + 3 against 4
    config.swap_block_cost = 3;
    World world(config);
    world.submit(prompt(0, 4, 6));
    world.submit(prompt(0, 4, 6));
    world.step();
    EXPECT_EQ(world.schedule().substr(0, 6), setup == 0 ? "1 | ~2" : "1 | -2");
  }
}

TEST(Swap, a_cancelled_sequence_gives_its_host_blocks_back) {
  World world(swapping(6, 4));
  world.submit(prompt(0, 2, 3));
  world.submit(prompt(0, 2, 3));
  for (int i = 0; i < 3; ++i) world.step();
  ASSERT_EQ(world.scheduler.host().pool().used_count(), 3u);
  ASSERT_TRUE(world.scheduler.cancel(SeqId{2}));
  EXPECT_EQ(check_invariants(world.scheduler), std::nullopt);
  world.step();
  EXPECT_EQ(world.scheduler.host().pool().used_count(), 0u);
}

TEST(Swap, after_a_failed_step_its_swaps_are_not_relied_on) {
  World world(swapping(6, 4));
  world.submit(prompt(0, 2, 3));
  world.submit(prompt(0, 2, 3));
  world.step();
  world.step();
  EXPECT_EQ(world.schedule(), "2 | ~2 | 2>0 3>1 5>2 | 1:2 | 1[3,4)");
  StepResult result;
  fail_step(world.scheduler.plan(), result);
  world.scheduler.commit(world.scheduler.plan(), result);
  EXPECT_EQ(check_invariants(world.scheduler), std::nullopt);
  EXPECT_EQ(world.scheduler.host().pool().used_count(), 0u);
  EXPECT_EQ(world.step(), "3 | !1 ^2 | 2:0,1,4,2 | 2[0,4)") << "recomputed";
}

SchedulerConfig caching(std::uint32_t num_blocks) {
  SchedulerConfig config = small(num_blocks, 2);
  config.prefix_cache = PrefixCacheKind::radix;
  return config;
}

TEST(PrefixCache, the_second_request_starts_behind_the_common_prefix) {
  World world(caching(16));
  world.submit(prompt(0, 5, 1));
  EXPECT_EQ(world.step(), "0 | +1 | 1:0,1,2 | 1[0,5)");
  world.submit(prompt(0, 6, 1));  // four of its tokens are cached
  EXPECT_EQ(world.step(), "1 | !1 +2@4 | 2:0,1,2 | 2[4,6)");
  const PrefixCacheStatistics statistics = world.scheduler.prefix_cache_statistics();
  EXPECT_EQ(statistics,
            (PrefixCacheStatistics{.queries = 2, .hits = 1, .query_tokens = 11, .hit_tokens = 4}));
}

// docs:begin publish
TEST(PrefixCache, nothing_is_shared_before_the_step_that_wrote_it_is_committed) {
  World world(caching(16));
  world.submit(prompt(0, 4, 3));
  world.submit(prompt(0, 4, 3));
  EXPECT_EQ(world.step(), "0 | +1 +2 | 1:0,1 2:2,3 | 1[0,4) 2[0,4)");
  EXPECT_EQ(world.step(), "1 | | 1:3 2:0,1,2 | 1[4,5) 2[4,5)")
      << "the second one's equal blocks have given way to the first one's";
}
// docs:end publish

// docs:begin copy-on-write
TEST(PrefixCache, a_prompt_that_is_cached_whole_runs_its_last_token_in_a_copy) {
  World world(caching(16));
  world.submit(prompt(0, 4, 1));
  world.step();
  world.submit(prompt(0, 4, 2));
  EXPECT_EQ(world.step(), "1 | !1 +2@3 | 1=2 | 2:0,2 | 2[3,4)");
}
// docs:end copy-on-write

TEST(PrefixCache, without_room_for_the_copy_its_tokens_are_run_again) {
  World world(caching(3));
  world.submit(prompt(0, 4, 1));
  world.step();
  world.submit(prompt(50, 1, 3));
  EXPECT_EQ(world.step(), "1 | !1 +2 | 2:2 | 2[0,1)");
  world.submit(prompt(0, 4, 1));
  EXPECT_EQ(world.step(), "2 | +3@2 | 3:0,1 | 2[1,2) 3[2,4)") << "block 1 makes room for itself";
}

TEST(PrefixCache, the_output_of_a_request_is_cached_too) {
  World world(caching(16));
  Request request = prompt(0, 3, 4);
  world.submit(request);
  world.finish();  // outputs 7 7 7 7, the KV of all but the last
  for (int i = 0; i < 5; ++i) request.prompt.emplace_back(7u);
  world.submit(request);
  EXPECT_EQ(world.schedule(), "5 | +2@6 | 2:0,1,2,3 | 2[6,8)");
}

TEST(PrefixCache, a_preempted_sequence_finds_its_own_prefix_again) {
  World world(caching(4));
  world.submit(prompt(0, 4, 3));
  world.submit(prompt(50, 3, 4));
  world.step();
  EXPECT_EQ(world.step(), "1 | -2 | 1:3 | 1[4,5)");
  world.step();
  EXPECT_EQ(world.step(), "3 | !1 ^2@2 | 2:2,3 | 2[2,4)");
  EXPECT_EQ(world.scheduler.prefix_cache_statistics().recovered_tokens, 2u);
}

TEST(PrefixCache, a_request_may_leave_it_alone) {
  World world(caching(16));
  Request request = prompt(0, 5, 1);
  request.prefix_cache = PrefixCacheUse::disable;
  world.submit(request);
  world.step();
  world.submit(prompt(0, 5, 1));
  EXPECT_EQ(world.step(), "1 | !1 +2 | 2:0,1,2 | 2[0,5)");
  world.submit(request);
  EXPECT_EQ(world.step(), "2 | !2 +3 | 3:2,3,4 | 3[0,5)");
}

TEST(PrefixCache, clear_forgets_all_of_it_and_disturbs_nobody) {
  World world(caching(16));
  world.submit(prompt(0, 4, 8));
  world.step();
  world.scheduler.clear_prefix_cache();
  EXPECT_EQ(check_invariants(world.scheduler), std::nullopt);
  world.submit(prompt(0, 4, 1));
  EXPECT_EQ(world.step(), "1 | +2 | 1:2 2:3,4 | 1[4,5) 2[0,4)");
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

TEST(Deadlines, a_request_takes_part_in_so_many_steps_and_then_ends) {
  World world(small(16));
  Request request = prompt(0, 2, 9);
  request.deadline_steps = 2;
  world.submit(request);
  world.step();
  world.step();
  const StepPlan& plan = world.scheduler.schedule();
  EXPECT_EQ(plan.finished, (std::vector<Finish>{{SeqId{1}, FinishReason::deadline}}));
  EXPECT_TRUE(plan.slices.empty());
  EXPECT_EQ(world.scheduler.cache().pool().used_count(), 0u);
}

TEST(Deadlines, a_waiting_request_ends_too) {
  SchedulerConfig config = small(16);
  config.max_batch_size = 1;
  World world(config);
  world.submit(prompt(0, 2, 9));
  Request request = prompt(0, 2, 9);
  request.deadline_steps = 1;
  world.submit(request);
  world.step();
  EXPECT_EQ(world.step(), "1 | !2 | 1:2 | 1[2,3)");
}

TEST(Deadlines, whoever_ends_in_time_has_none) {
  World world(small(16));
  Request request = prompt(0, 2, 1);
  request.deadline_steps = 1;
  world.submit(request);
  world.step();
  EXPECT_EQ(world.scheduler.schedule().finished,
            (std::vector<Finish>{{SeqId{1}, FinishReason::length}}));
}

TEST(Deadlines, one_too_far_to_count_is_none) {
  World world(small(16));
  Request request = prompt(0, 2, 3);
  request.deadline_steps = 0xffffffffffffffff;
  world.submit(prompt(0, 1, 1));
  world.step();
  world.submit(request);
  EXPECT_EQ(world.finish(), 4);
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
