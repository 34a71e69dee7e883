// Each decision by itself: values in, a value out.
#include "forge/core/policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace forge {
namespace {

TEST(AdmissionKey, is_a_place_in_the_order_of_arrival_moved_back_by_the_head_start_of_each_level) {
  const SchedulerConfig config{.priority_head_start = 4};
  const auto key = [&](std::uint64_t seq, Priority priority) {
    return admission_key({.seq = SeqId{seq}, .priority = priority}, config);
  };
  EXPECT_EQ(key(10, Priority::high).place, 10u);
  EXPECT_EQ(key(10, Priority::normal).place, 14u);
  EXPECT_EQ(key(10, Priority::low).place, 18u);
  EXPECT_LT(key(13, Priority::high), key(10, Priority::normal));
  EXPECT_LT(key(10, Priority::normal), key(14, Priority::high)) << "a tie: who came first";
  EXPECT_EQ(overtakers_max(Priority::high, config), 0u);
  EXPECT_EQ(overtakers_max(Priority::normal, config), 3u);
  EXPECT_EQ(overtakers_max(Priority::low, config), 7u);
}

TEST(BlocksKeptFree, are_the_watermark_while_sequences_run) {
  const SchedulerConfig config{.watermark_blocks = 3};
  EXPECT_EQ(blocks_kept_free(0, config), 0u);
  EXPECT_EQ(blocks_kept_free(1, config), 3u);
}

TEST(PromptChunk, is_the_least_of_rest_chunk_size_and_budget) {
  const SchedulerConfig config{.prefill_chunk_size = 8};
  const SequenceView view{.prompt_tokens = 20, .output_tokens = 1, .computed_tokens = 5};
  EXPECT_EQ(prompt_chunk(view, 100, config), 8u);
  EXPECT_EQ(prompt_chunk(view, 3, config), 3u);
  const SequenceView nearly{.prompt_tokens = 20, .output_tokens = 1, .computed_tokens = 19};
  EXPECT_EQ(prompt_chunk(nearly, 100, config), 2u);
}

TEST(DraftsKept, are_those_that_the_step_has_room_for_and_none_when_blocks_are_short) {
  EXPECT_EQ(drafts_kept(4, {.tokens = 9}), 4u);
  EXPECT_EQ(drafts_kept(4, {.tokens = 3}), 3u);
  EXPECT_EQ(drafts_kept(4, {.tokens = 9, .blocks_are_short = true}), 0u);
}

TEST(Victims, are_ordered_by_priority_then_fewest_output_tokens_then_the_higher_id) {
  std::vector<SequenceView> running{
      {.seq = SeqId{1}, .priority = Priority::high, .output_tokens = 0},
      {.seq = SeqId{2}, .priority = Priority::normal, .output_tokens = 3},
      {.seq = SeqId{3}, .priority = Priority::normal, .output_tokens = 2},
      {.seq = SeqId{4}, .priority = Priority::normal, .output_tokens = 2},
      {.seq = SeqId{5}, .priority = Priority::low, .output_tokens = 9},
  };
  std::ranges::sort(running, is_better_victim);
  std::vector<std::uint64_t> order;
  for (const SequenceView& view : running) order.push_back(view.seq.value);
  EXPECT_EQ(order, (std::vector<std::uint64_t>{5, 4, 3, 2, 1}));
}

TEST(PreemptionModes, automatic_takes_the_cheaper_one_and_recomputes_ties) {
  const SchedulerConfig config{.cache = {.block_size = 4},
                               .preemption = PreemptionPolicy::automatic,
                               .swap_setup_cost = 2,
                               .swap_block_cost = 2};
  const auto mode = [&](std::uint32_t computed) {
    return preemption_mode({.computed_tokens = computed}, config);
  };
  EXPECT_EQ(mode(6), PreemptionMode::recompute) << "2 blocks cost 6, as recomputing does";
  EXPECT_EQ(mode(7), PreemptionMode::swap);
  EXPECT_EQ(mode(8), PreemptionMode::swap);
  EXPECT_EQ(mode(9), PreemptionMode::swap) << "3 blocks cost 8";
}

TEST(Sessions, give_way_where_nothing_else_can_idle_ones_first) {
  EXPECT_TRUE(sessions_give_way(0));
  EXPECT_FALSE(sessions_give_way(1));
  const SessionView idle{.session = SessionId{9}, .idle_since = StepId{4}, .pinned_blocks = 1};
  const SessionView longer{.session = SessionId{8}, .idle_since = StepId{3}};
  const SessionView active{.session = SessionId{1}, .active = true, .pinned_blocks = 7};
  const SessionView later{.session = SessionId{2}, .active = true, .pinned_blocks = 9};
  std::vector<SessionView> order{later, active, idle, longer};
  std::ranges::sort(order, gives_way_before);
  EXPECT_EQ(order, (std::vector{longer, idle, active, later}));
}

}  // namespace
}  // namespace forge
