// Scheduler: chunked prefill, priorities, swapping, deadlines. A story each; preemption, admission
// and drafts are in scheduler_test.cc, prefix caching and sessions in scheduler_prefix_test.cc.
#include "core/policy_story.h"

namespace forge {
namespace {

using testing::prompt;
using testing::small;
using testing::with;
using testing::World;

TEST(ChunkedPrefill, a_long_prompt_runs_in_chunks_beside_the_decodes) {
  SchedulerConfig config = small(64);
  config.prefill_chunk_size = 4;
  World world(config);
  world.submit(prompt(0, 2, 9));
  EXPECT_EQ(world.step(), "0 | +1 | 1:0+0,1 | 1:0+2*");
  world.submit(prompt(0, 9, 2));
  EXPECT_EQ(world.step(), "1 | +2 | 1:2+2 2:0+3,4,5,6,7,8,9,10,11 | 1:2+1 2:0+4>");
  EXPECT_EQ(world.step(), "2 | | 1:3+12 | 1:3+1 2:4+4>");
  EXPECT_EQ(world.step(), "3 | | 1:4+13 | 1:4+1 2:8+1*");
  EXPECT_EQ(world.step(), "4 | | 1:5+14 2:9+15 | 1:5+1 2:9+1");
}

TEST(ChunkedPrefill, the_budget_is_for_decodes_first_and_then_for_several_prompts) {
  SchedulerConfig config = small(64);
  config.batch.max_batch_size = 4;
  config.batch.max_batch_tokens = 6;
  config.prefill_chunk_size = 4;
  World world(config);
  world.submit(prompt(0, 1, 9));
  EXPECT_EQ(world.step(), "0 | +1 | 1:0+0 | 1:0+1*");
  world.submit(prompt(0, 7, 1));
  world.submit(prompt(0, 3, 1));
  EXPECT_EQ(world.step(), "1 | +2 +3 | 1:1+1 2:0+2,3,4,5,6,7,8 3:0+9,10,11 | 1:1+1 2:0+4> 3:0+1>");
  EXPECT_EQ(world.step(), "2 | | 1:2+12 | 1:2+1 2:4+3* 3:1+2*");
}

TEST(ChunkedPrefill, a_prompt_under_way_waits_when_the_budget_is_used_up) {
  SchedulerConfig config = small(64);
  config.batch.max_batch_size = 3;
  config.batch.max_batch_tokens = 3;
  World world(config);
  world.submit(prompt(0, 6, 9));
  world.submit(prompt(0, 6, 9));
  EXPECT_EQ(world.step(), "0 | +1 | 1:0+0,1,2,3,4,5 | 1:0+3>");
  EXPECT_EQ(world.step(), "1 | | | 1:3+3*");
  EXPECT_EQ(world.step(), "2 | +2 | 1:6+6 2:0+7,8,9,10,11,12 | 1:6+1 2:0+2>");
  EXPECT_EQ(world.step(2), "3 | | 1:7+13 | 1:7+1 2:2+2>");
  EXPECT_EQ(world.step(2), "4 | | 1:8+14,15,16 | 1:8+3/2") << "drafts before prompts";
  EXPECT_EQ(world.step(0), "5 | | 1:9+15,16,17 | 1:9+3/2");
  EXPECT_EQ(world.step(0), "6 | | 1:10+16 | 1:10+1 2:4+2*");
}

TEST(ChunkedPrefill, drafts_share_what_the_budget_leaves_in_order_of_admission) {
  SchedulerConfig config = small(64);
  config.batch.max_batch_size = 3;
  config.batch.max_batch_tokens = 6;
  World world(config);
  for (int i = 0; i < 3; ++i) world.submit(prompt(0, 1, 20));
  world.step(2);
  EXPECT_EQ(world.step(), "1 | | 1:1+3,4,5 2:1+6,7 3:1+8 | 1:1+3/2 2:1+2/1 3:1+1");
}

TEST(ChunkedPrefill, a_prompt_can_be_preempted_half_way_and_starts_again) {
  SchedulerConfig config = small(8);
  config.prefill_chunk_size = 2;
  World world(config);
  world.submit(prompt(0, 2, 6));
  world.step();
  world.submit(prompt(0, 5, 1));
  EXPECT_EQ(world.step(), "1 | +2 | 1:2+2 2:0+3,4,5,6,7 | 1:2+1 2:0+2>");
  EXPECT_EQ(world.step(), "2 | -2 | 1:3+3 | 1:3+1");
  EXPECT_EQ(world.scheduler.view(SeqId{2})->computed_tokens, 0u);
  for (int i = 0; i < 3; ++i) world.step();
  EXPECT_EQ(world.step(), "6 | !1 ^2 | 2:0+0,1,2,3,4 | 2:0+2>");
}

TEST(Watermark, keeps_blocks_back_from_new_prompts_while_others_run) {
  SchedulerConfig config = small(10);
  config.watermark_blocks = 3;
  World world(config);
  world.submit(prompt(0, 9, 1));  // alone it may have them
  EXPECT_EQ(world.step(), "0 | +1 | 1:0+0,1,2,3,4,5,6,7,8 | 1:0+9*");
  world.submit(prompt(0, 4, 4));
  world.submit(prompt(0, 4, 4));
  EXPECT_EQ(world.step(), "1 | !1 +2 | 2:0+0,1,2,3 | 2:0+4*") << "4 of 6 would leave 2";
  EXPECT_EQ(world.step(), "2 | | 2:4+4 | 2:4+1") << "decodes go on below it";
}

TEST(MemoryPressure, stops_admission_at_a_share_of_the_blocks_while_others_run) {
  SchedulerConfig config = small(10);
  config.memory_pressure = 80;
  World world(config);
  world.submit(prompt(0, 9, 1));  // alone it may have them
  EXPECT_EQ(world.step(), "0 | +1 | 1:0+0,1,2,3,4,5,6,7,8 | 1:0+9*");
  world.submit(prompt(0, 4, 6));
  world.submit(prompt(0, 5, 1));
  EXPECT_EQ(world.step(), "1 | !1 +2 | 2:0+0,1,2,3 | 2:0+4*") << "9 of 10 would be in use";
  for (int step = 2; step < 7; ++step) world.step();
  EXPECT_EQ(world.scheduler.cache().available_count(), 1U) << "decodes go on beyond it";
}

TEST(DecodePriority, prompts_leave_a_share_of_the_step_alone_while_others_decode) {
  SchedulerConfig config = small(64);
  config.batch.max_batch_tokens = 16;
  config.batch.max_batch_size = 4;
  config.decode_priority = 75;
  World world(config);
  world.submit(prompt(0, 9, 3));
  EXPECT_EQ(world.step(), "0 | +1 | 1:0+0,1,2,3,4,5,6,7,8 | 1:0+9*") << "nobody decodes";
  world.submit(prompt(0, 10, 2));
  EXPECT_EQ(world.step(), "1 | +2 | 1:9+9 2:0+10,11,12,13,14,15,16,17,18,19 | 1:9+1 2:0+4>");
  EXPECT_EQ(world.step(), "2 | | 1:10+20 | 1:10+1 2:4+4>");
  EXPECT_EQ(world.step(), "3 | !1 | | 2:8+2*");
}

TEST(Clients, take_turns_however_many_requests_each_has_waiting) {
  SchedulerConfig config = small(64);
  config.batch.max_batch_size = 1;
  config.batch.max_batch_tokens = 8;
  World world(config);
  for (int i = 0; i < 3; ++i) world.submit(with(prompt(0, 2, 1), ClientId{1}));
  world.submit(with(prompt(0, 2, 1), ClientId{2}));
  world.submit(with(prompt(0, 2, 1), ClientId{2}));
  EXPECT_EQ(world.step(), "0 | +1 | 1:0+0,1 | 1:0+2*");
  EXPECT_EQ(world.step(), "1 | !1 +4 | 4:0+0,1 | 4:0+2*");
  const FairShares& shares = world.scheduler.shares();
  const auto had = [&](std::uint64_t seq) {
    return shares.share_of_client(world.scheduler.user_of(SeqId{seq}).value()).served;
  };
  EXPECT_EQ(had(2), served_by(2, 1));
  EXPECT_EQ(had(4), served_by(3, 1)) << "two tokens, and one for coming second";
  EXPECT_EQ(world.step(), "2 | !4 +2 | 2:0+0,1 | 2:0+2*");
  EXPECT_EQ(world.step(), "3 | !2 +5 | 5:0+0,1 | 5:0+2*");
  EXPECT_EQ(world.step(), "4 | !5 +3 | 3:0+0,1 | 3:0+2*");
}

TEST(Clients, a_priority_moves_a_request_among_those_of_its_user_alone) {
  SchedulerConfig config = small(64);
  config.batch.max_batch_size = 1;
  config.batch.max_batch_tokens = 8;
  World world(config);
  world.submit(with(prompt(0, 2, 1), ClientId{1}));
  world.submit(with(prompt(0, 2, 1), ClientId{2}));
  world.submit(with(with(prompt(0, 2, 1), ClientId{2}), Priority::high));
  EXPECT_EQ(world.step(), "0 | +1 | 1:0+0,1 | 1:0+2*");
  EXPECT_EQ(world.step(), "1 | !1 +3 | 3:0+0,1 | 3:0+2*");
}

TEST(Priorities, a_higher_one_goes_first_and_a_lower_one_gives_way) {
  SchedulerConfig config = small(6);
  World world(config);
  world.submit(with(prompt(0, 2, 4), Priority::low));
  world.submit(prompt(0, 1, 4));
  world.submit(with(prompt(0, 1, 4), Priority::high));
  EXPECT_EQ(world.step(), "0 | +3 +2 +1 | 3:0+0 2:0+1 1:0+2,3 | 3:0+1* 2:0+1* 1:0+2*");
  EXPECT_EQ(world.scheduler.view(SeqId{1})->overtaken, 2u);
  EXPECT_EQ(world.scheduler.view(SeqId{2})->overtaken, 1u);
  EXPECT_EQ(world.scheduler.view(SeqId{3})->overtaken, 0u);
  EXPECT_EQ(world.step(), "1 | -1 | 3:1+2 2:1+3 | 3:1+1 2:1+1")
      << "as many output tokens as the others and the lowest id, but of low priority";
  EXPECT_EQ(world.scheduler.waiting().front().priority, Priority::low);
}

TEST(Priorities, who_was_preempted_keeps_its_place) {
  SchedulerConfig config = small(6);
  World world(config);
  world.submit(prompt(0, 2, 4));
  world.submit(prompt(0, 2, 4));
  world.step();
  world.submit(prompt(0, 1, 1));
  world.step();
  world.submit(with(prompt(0, 1, 1), Priority::high));
  EXPECT_EQ(world.step(), "2 | -2 | 1:3+2 | 1:3+1");
  EXPECT_EQ(world.scheduler.waiting()[0].seq, SeqId{4});
  EXPECT_EQ(world.scheduler.waiting()[1].seq, SeqId{2});
  EXPECT_EQ(world.scheduler.waiting()[2].seq, SeqId{3});
}

SchedulerConfig swapping(std::uint32_t num_blocks, std::uint32_t num_host_blocks) {
  SchedulerConfig config = small(num_blocks);
  config.cache.num_host_blocks = num_host_blocks;
  config.preemption = PreemptionPolicy::swap;
  return config;
}

TEST(Swap, a_victim_goes_to_the_host_and_comes_back_to_where_it_was) {
  World world(swapping(6, 4));
  world.submit(prompt(0, 2, 3));
  world.submit(prompt(0, 2, 3));
  world.step();
  world.step();
  EXPECT_EQ(world.step(), "2 | -2~ | [2>h0] [3>h1] [5>h2] | 1:3+2 | 1:3+1");
  EXPECT_EQ(world.scheduler.waiting().front().computed_tokens, 3u);
  EXPECT_EQ(world.scheduler.host().pool().used_count(), 3u);
  EXPECT_EQ(world.step(), "3 | !1 ^2@3 | [h0>0] [h1>1] [h2>4] | 2:0+0,1,4,2 | 2:3+1*")
      << "decodes at once";
  EXPECT_EQ(world.scheduler.host().pool().used_count(), 0u);
}

TEST(Swap, without_room_on_the_host_the_victim_recomputes) {
  World world(swapping(6, 2));
  world.submit(prompt(0, 2, 3));
  world.submit(prompt(0, 2, 3));
  world.step();
  world.step();
  EXPECT_EQ(world.step(), "2 | -2 | 1:3+2 | 1:3+1");
}

TEST(Swap, automatic_swaps_where_that_costs_less_than_recomputing) {
  for (const std::uint32_t setup : {0u, 1u}) {
    SchedulerConfig config = swapping(8, 8);
    config.cache.block_size = 4;
    config.cache.num_blocks = 3;
    config.preemption = PreemptionPolicy::automatic;
    config.swap_setup_cost = setup;  // a victim of 4 tokens in 1 block: setup + 3 against 4
    config.swap_block_cost = 3;
    World world(config);
    world.submit(prompt(0, 4, 6));
    world.submit(prompt(0, 4, 6));
    world.step();
    EXPECT_EQ(world.schedule().substr(0, 8), setup == 0 ? "1 | -2~ " : "1 | -2 |");
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
  EXPECT_EQ(world.schedule(), "2 | -2~ | [2>h0] [3>h1] [5>h2] | 1:3+2 | 1:3+1");
  StepResult result;
  fail_step(world.scheduler.plan(), result);
  world.scheduler.commit(world.scheduler.plan(), result);
  EXPECT_EQ(check_invariants(world.scheduler), std::nullopt);
  EXPECT_EQ(world.scheduler.host().pool().used_count(), 0u);
  EXPECT_EQ(world.step(), "3 | !1 ^2 | 2:0+0,1,4,2 | 2:0+4*") << "recomputed";
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
  config.batch.max_batch_size = 1;
  World world(config);
  world.submit(prompt(0, 2, 9));
  Request request = prompt(0, 2, 9);
  request.deadline_steps = 1;
  world.submit(request);
  world.step();
  EXPECT_EQ(world.step(), "1 | !2 | 1:2+2 | 1:2+1");
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

}  // namespace
}  // namespace forge
