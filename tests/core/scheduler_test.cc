#include "forge/core/scheduler.h"

#include <gtest/gtest.h>

#include "core/schedule_table.h"
#include "forge/core/invariants.h"

namespace forge {
namespace {

using testing::one_token_each;
using testing::request;
using testing::run_to_end;

Scheduler tiny(std::uint32_t blocks, std::uint32_t batch = 16) {
  return Scheduler({.cache = {.num_blocks = blocks, .block_size = 1},
                    .batch = {.max_batch_size = batch},
                    .prefix_cache = PrefixCacheKind::none});
}

/// One step whose every slice yields a token.
std::string step(Scheduler& scheduler, std::uint32_t drafts = 0) {
  const StepPlan& plan = scheduler.schedule();
  EXPECT_EQ(check_invariants(scheduler), std::nullopt);
  const std::string text = plan_row(plan);
  scheduler.commit(plan, one_token_each(plan, drafts));
  EXPECT_EQ(check_invariants(scheduler), std::nullopt);
  return text;
}

// Six blocks of one slot, two prompts of two tokens, three tokens to generate each. In step 2
// both need a sixth and seventh block; both have two output tokens, so the tie goes to the higher
// id: sequence 2 gives up its blocks, waits until sequence 1 is done, and recomputes.
TEST(Scheduler, preempts_when_blocks_run_out) {
  Scheduler scheduler = tiny(6);
  ASSERT_TRUE(scheduler.submit(request(2, 3)));
  ASSERT_TRUE(scheduler.submit(request(2, 3)));
  EXPECT_EQ(run_to_end(scheduler),
            "0 | +1 +2 | 1:0+0,1 2:0+2,3 | 1:0+2* 2:0+2*\n"
            "1 | | 1:2+4 2:2+5 | 1:2+1 2:2+1\n"
            "2 | -2 | 1:3+2 | 1:3+1\n"
            "3 | !1 ^2 | 2:0+0,1,4,2 | 2:0+4*\n"
            "4 | !2 | |\n");
}

TEST(Scheduler, preempted_sequence_resumes_later) {
  Scheduler scheduler = tiny(6);
  ASSERT_TRUE(scheduler.submit(request(2, 3)));
  const SeqId second = scheduler.submit(request(2, 3)).value();
  step(scheduler);
  step(scheduler);
  ASSERT_TRUE(scheduler.submit(request(1, 1)));  // fresh: must not overtake the preempted one
  EXPECT_EQ(step(scheduler), "2 | -2 | 1:3+2 | 1:3+1");
  ASSERT_EQ(scheduler.waiting_count(), 2u);
  EXPECT_EQ(scheduler.waiting().front().seq, second);
  EXPECT_EQ(scheduler.waiting().front().output_tokens, 2u) << "output survives preemption";
  EXPECT_EQ(scheduler.waiting().front().preemptions, 1u);
  EXPECT_EQ(step(scheduler), "3 | !1 ^2 +3 | 2:0+0,1,4,2 3:0+3 | 2:0+4* 3:0+1*");
}

TEST(Scheduler, victims_are_those_with_the_fewest_output_tokens) {
  Scheduler scheduler = tiny(7);
  ASSERT_TRUE(scheduler.submit(request(2, 5)));
  ASSERT_TRUE(scheduler.submit(request(2, 5)));
  step(scheduler, 1);
  const StepPlan& plan = scheduler.schedule();  // 4 slots with drafts, 3 free: no drafts
  ASSERT_EQ(plan_row(plan), "1 | | 1:2+4 2:2+5 | 1:2+1 2:2+1");
  StepResult result = one_token_each(plan);
  scheduler.commit(plan, result);
  ASSERT_TRUE(scheduler.cancel(SeqId{1}));
  ASSERT_TRUE(scheduler.submit(request(3, 4)));
  EXPECT_EQ(step(scheduler), "2 | !1 +3 | 2:3+0 3:0+1,4,6 | 2:3+1 3:0+3*");
  EXPECT_EQ(step(scheduler), "3 | -3 | 2:4+1 | 2:4+1") << "1 output token against 3";
}

TEST(Scheduler, ties_between_victims_go_to_the_higher_id) {
  Scheduler scheduler = tiny(7);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(scheduler.submit(request(2, 4)));
  EXPECT_EQ(step(scheduler), "0 | +1 +2 +3 | 1:0+0,1 2:0+2,3 3:0+4,5 | 1:0+2* 2:0+2* 3:0+2*");
  EXPECT_EQ(step(scheduler), "1 | -3 | 1:2+4 2:2+5 | 1:2+1 2:2+1");
  EXPECT_EQ(step(scheduler), "2 | -2 | 1:3+2 | 1:3+1") << "never sequence 1";
}

TEST(Scheduler, admission_blocks_when_prompt_does_not_fit) {
  Scheduler scheduler = tiny(6);
  ASSERT_TRUE(scheduler.submit(request(4, 2)));
  ASSERT_TRUE(scheduler.submit(request(3, 1)));
  ASSERT_TRUE(scheduler.submit(request(1, 1)));  // would fit, but nobody overtakes
  EXPECT_EQ(step(scheduler), "0 | +1 | 1:0+0,1,2,3 | 1:0+4*");
  EXPECT_EQ(scheduler.waiting_count(), 2u);
  EXPECT_EQ(step(scheduler), "1 | | 1:4+4 | 1:4+1");
  EXPECT_EQ(step(scheduler), "2 | !1 +2 +3 | 2:0+0,1,2 3:0+3 | 2:0+3* 3:0+1*");
}

TEST(Scheduler, batch_size_bounds_the_sequences_of_a_step) {
  Scheduler scheduler = tiny(64, 2);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(scheduler.submit(request(1, 2)));
  EXPECT_EQ(step(scheduler), "0 | +1 +2 | 1:0+0 2:0+1 | 1:0+1* 2:0+1*");
  EXPECT_EQ(step(scheduler), "1 | | 1:1+2 2:1+3 | 1:1+1 2:1+1");
  EXPECT_EQ(step(scheduler), "2 | !1 !2 +3 | 3:0+1 | 3:0+1*");
}

TEST(Scheduler, decodes_come_before_prompts) {
  Scheduler scheduler = tiny(64);
  ASSERT_TRUE(scheduler.submit(request(2, 4)));
  step(scheduler);
  ASSERT_TRUE(scheduler.submit(request(3, 4)));
  const StepPlan& plan = scheduler.schedule();
  ASSERT_EQ(plan.decode_batch().size(), 1u);
  EXPECT_EQ(plan.decode_batch()[0].seq, SeqId{1});
  ASSERT_EQ(plan.prefill_batch().size(), 1u);
  EXPECT_EQ(plan.prefill_batch()[0].seq, SeqId{2});
}

TEST(Scheduler, max_new_tokens_retires_a_sequence_with_reason_length) {
  Scheduler scheduler = tiny(8);
  ASSERT_TRUE(scheduler.submit(request(1, 2)));
  step(scheduler);
  step(scheduler);
  const StepPlan& plan = scheduler.schedule();
  EXPECT_EQ(plan.finished, (std::vector<Finish>{{SeqId{1}, FinishReason::length}}));
  EXPECT_EQ(scheduler.cache().pool().used_count(), 0u);
}

TEST(Scheduler, eos_retires_a_sequence_early) {
  Scheduler scheduler = tiny(8);
  ASSERT_TRUE(scheduler.submit(request(1, 5)));
  const StepPlan& plan = scheduler.schedule();
  StepResult result = one_token_each(plan);
  result.slices[0].signal = FinishSignal::eos;
  scheduler.commit(plan, result);
  const StepPlan& last = scheduler.schedule();
  EXPECT_EQ(last.finished, (std::vector<Finish>{{SeqId{1}, FinishReason::eos}}));
  EXPECT_TRUE(last.slices.empty());
  scheduler.commit(last, one_token_each(last));
  EXPECT_FALSE(scheduler.has_work());
}

TEST(Scheduler, a_failed_target_retires_its_sequences_with_reason_error) {
  Scheduler scheduler = tiny(8);
  ASSERT_TRUE(scheduler.submit(request(1, 5)));
  const StepPlan& plan = scheduler.schedule();
  StepResult result = one_token_each(plan);
  result.tokens.clear();
  result.slices[0] = {.seq = SeqId{1}, .signal = FinishSignal::error};
  scheduler.commit(plan, result);
  EXPECT_EQ(scheduler.schedule().finished, (std::vector<Finish>{{SeqId{1}, FinishReason::error}}));
}

TEST(Scheduler, a_sequence_without_finite_logits_retires_alone_with_reason_error) {
  Scheduler scheduler = tiny(8);
  const SeqId at_fault = scheduler.submit(request(1, 5)).value();
  const SeqId beside = scheduler.submit(request(1, 5)).value();
  const StepPlan& plan = scheduler.schedule();
  StepResult result = one_token_each(plan);
  ASSERT_EQ(result.slices[0].seq, at_fault);
  result.slices[0] = {.seq = at_fault, .signal = FinishSignal::not_finite};
  scheduler.commit(plan, result);
  const StepPlan& next = scheduler.schedule();
  EXPECT_EQ(next.finished, (std::vector<Finish>{{at_fault, FinishReason::error}}));
  ASSERT_EQ(next.slices.size(), 1u);
  EXPECT_EQ(next.slices[0].seq, beside);
}

TEST(Scheduler, cancel_ends_a_waiting_or_running_sequence_in_the_next_plan) {
  Scheduler scheduler = tiny(8, 1);
  const SeqId running = scheduler.submit(request(2, 5)).value();
  const SeqId waiting = scheduler.submit(request(2, 5)).value();
  step(scheduler);
  EXPECT_TRUE(scheduler.cancel(waiting));
  EXPECT_TRUE(scheduler.cancel(running, FinishReason::stop));
  const StepPlan& plan = scheduler.schedule();
  EXPECT_EQ(plan.finished, (std::vector<Finish>{{waiting, FinishReason::cancelled},
                                                {running, FinishReason::stop}}));
  EXPECT_EQ(scheduler.cache().pool().free_count(), 8u);
}

TEST(Scheduler, cancel_of_a_step_in_flight_keeps_the_first_reason) {
  Scheduler scheduler = tiny(8);
  ASSERT_TRUE(scheduler.submit(request(1, 1)));
  const StepPlan& plan = scheduler.schedule();
  EXPECT_TRUE(scheduler.cancel(SeqId{1}));
  scheduler.commit(plan, one_token_each(plan));  // reaches max_new_tokens as well
  EXPECT_EQ(scheduler.schedule().finished,
            (std::vector<Finish>{{SeqId{1}, FinishReason::cancelled}}));
}

TEST(Scheduler, cancelling_an_unknown_sequence_is_an_error) {
  Scheduler scheduler = tiny(8);
  EXPECT_EQ(scheduler.cancel(SeqId{1}).error().seq, SeqId{1});
  ASSERT_TRUE(scheduler.submit(request(1, 1)));
  step(scheduler);
  step(scheduler);
  EXPECT_FALSE(scheduler.cancel(SeqId{1}).has_value()) << "retired";
}

TEST(Scheduler, refuses_at_submit_what_can_never_fit) {
  Scheduler scheduler(
      {.cache = {.num_blocks = 2, .block_size = 4}, .batch = {.max_batch_size = 1}});
  EXPECT_TRUE(scheduler.submit(request(5, 3)));
  const auto refused = scheduler.submit(request(5, 4));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error(), SubmitError(NeverFits{5, 4, 8}));
  EXPECT_EQ(to_string(refused.error()),
            "prompt of 5 tokens plus max_new_tokens 4 exceeds the KV cache of 8 tokens");
  EXPECT_EQ(scheduler.submit(request(0, 4)).error(), SubmitError(EmptyPrompt{}));
  EXPECT_EQ(scheduler.submit(request(1, 0)).error(), SubmitError(NothingToGenerate{}));
}

TEST(Scheduler, refuses_lengths_that_would_overflow) {
  Scheduler scheduler(
      {.cache = {.num_blocks = 4, .block_size = 4}, .batch = {.max_batch_size = 1}});
  EXPECT_FALSE(scheduler.submit(request(1, 0xffffffff)).has_value());
}

TEST(Scheduler, refuses_lengths_beyond_32_bits_even_where_the_cache_has_the_slots) {
  const SchedulerConfig huge{.cache = {.num_blocks = 1u << 22, .block_size = 1u << 14},
                             .batch = {.max_batch_size = 1}};
  EXPECT_TRUE(validate(request(1, 1u << 31), huge).has_value());
  EXPECT_FALSE(validate(request(2, 0xffffffff), huge).has_value());
  EXPECT_FALSE(validate(request(1, 0xfffffffe), huge).has_value());
}

TEST(Scheduler, drafts_get_slots_and_rejected_ones_are_rolled_back) {
  Scheduler scheduler = tiny(16);
  ASSERT_TRUE(scheduler.submit(request(2, 8)));
  step(scheduler, 3);
  EXPECT_EQ(step(scheduler, 3), "1 | | 1:2+2,3,4,5 | 1:2+4/3");  // all three drafts rejected
  EXPECT_EQ(scheduler.cache().pool().used_count(), 3u);
  EXPECT_EQ(step(scheduler, 0), "2 | | 1:3+3,4,5,6 | 1:3+4/3");
}

TEST(Scheduler, accepted_drafts_count_as_output) {
  Scheduler scheduler = tiny(16);
  ASSERT_TRUE(scheduler.submit(request(2, 8)));
  step(scheduler, 3);
  const StepPlan& plan = scheduler.schedule();
  StepResult result = one_token_each(plan);
  result.tokens.assign(4, TokenId{7});
  result.slices[0].token_count = 4;  // three drafts and the bonus token
  scheduler.commit(plan, result);
  EXPECT_EQ(scheduler.view(SeqId{1}).value().output_tokens, 5u);
  EXPECT_EQ(step(scheduler), "2 | | 1:6+6 | 1:6+1");
}

TEST(Scheduler, drafts_never_go_beyond_max_new_tokens) {
  Scheduler scheduler = tiny(16);
  ASSERT_TRUE(scheduler.submit(request(2, 3)));
  step(scheduler, 5);
  EXPECT_EQ(step(scheduler, 5), "1 | | 1:2+2,3 | 1:2+2/1");
  EXPECT_EQ(step(scheduler, 5), "2 | | 1:3+3 | 1:3+1");
}

TEST(Scheduler, drafts_are_given_up_before_anyone_is_preempted) {
  Scheduler scheduler = tiny(8);
  ASSERT_TRUE(scheduler.submit(request(2, 6)));
  ASSERT_TRUE(scheduler.submit(request(2, 6)));
  step(scheduler, 2);
  EXPECT_EQ(step(scheduler, 2), "1 | | 1:2+4 2:2+5 | 1:2+1 2:2+1")
      << "6 would be needed, 4 are free";
}

TEST(Scheduler, many_requests_all_complete_under_pressure) {
  Scheduler scheduler(
      {.cache = {.num_blocks = 12, .block_size = 4}, .batch = {.max_batch_size = 8}});
  for (std::uint32_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(scheduler.submit(request(1 + i % 17, 1 + i % 31)));
  }
  std::size_t finished = 0;
  std::size_t preemptions = 0;
  while (scheduler.has_work()) {
    const StepPlan& plan = scheduler.schedule();
    ASSERT_EQ(check_invariants(scheduler), std::nullopt);
    for (const Finish& finish : plan.finished) ASSERT_EQ(finish.reason, FinishReason::length);
    finished += plan.finished.size();
    preemptions += plan.preempted.size();
    scheduler.commit(plan, one_token_each(plan, 2));
  }
  EXPECT_EQ(finished, 200u);
  EXPECT_GT(preemptions, 0u) << "no pressure, no test";
}

TEST(SchedulerDeathTest, misuse_aborts) {
  Scheduler scheduler = tiny(8);
  ASSERT_TRUE(scheduler.submit(request(1, 2)));
  const StepPlan plan = scheduler.schedule();
  EXPECT_DEATH(scheduler.schedule(), "step 0 has not been committed");
  StepResult result = one_token_each(plan);
  result.slices.clear();
  EXPECT_DEATH(scheduler.commit(plan, result), "1 slices, 0 answers");
  result = one_token_each(plan);
  result.slices[0].token_count = 2;
  EXPECT_DEATH(scheduler.commit(plan, result), "2 tokens for 0 drafts");
  result = one_token_each(plan);
  result.step = StepId{1};
  EXPECT_DEATH(scheduler.commit(plan, result), "plan of step 0, result of step 1");
}

}  // namespace
}  // namespace forge
