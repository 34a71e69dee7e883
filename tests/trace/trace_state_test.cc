#include "forge/trace/trace_state.h"

#include <gtest/gtest.h>

#include <random>

#include "forge/trace/trace_reader.h"
#include "trace/recorded_run.h"

namespace forge::trace {
namespace {

using testing::request;
using Place = TracedSequence::Place;

/// What the state and a scheduler can both say of a sequence.
std::string text_of(std::uint64_t seq, Priority priority, std::uint32_t prompt,
                    std::uint32_t output, std::uint32_t computed, std::uint32_t preemptions) {
  std::ostringstream text;
  text << seq << " priority " << static_cast<int>(priority) << ": " << prompt << "+" << output
       << " tokens, " << computed << " computed, " << preemptions << " preemptions\n";
  return text.str();
}
std::string text_of(const SequenceView& v) {
  return text_of(v.seq.value, v.priority, v.prompt_tokens, v.output_tokens, v.computed_tokens,
                 v.preemptions);
}
std::string text_of(const TracedSequence& s) {
  return text_of(s.seq.value, s.priority, s.prompt_tokens, s.output_tokens, s.computed_tokens,
                 s.preemptions);
}

std::string text_of(const FairShares& shares) {
  Digest digest;
  shares.add_to(digest);
  return "shares " + std::to_string(digest.value()) + "\n";
}

/// Queue, batch and shares; whoever is about to be retired is left out, since a scheduler may
/// already have taken it from its lists.
std::string text_of(const Scheduler& scheduler) {
  std::string text;
  for (const SequenceView& v : scheduler.waiting()) text += "waits " + text_of(v);
  for (const SequenceView& v : scheduler.running()) {
    if (v.state != SequenceState::finishing) text += "runs " + text_of(v);
  }
  return text + text_of(scheduler.shares()) +
         std::to_string(scheduler.config().cache.num_host_blocks -
                        scheduler.host().available_count()) +
         " host blocks\n";
}
std::string text_of(const TraceState& state) {
  std::string text;
  for (const TracedSequence* s : state.queue()) {
    if (!s->ends) text += "waits " + text_of(*s);
  }
  for (const TracedSequence* s : state.batch()) {
    if (!s->ends) text += "runs " + text_of(*s);
  }
  return text + text_of(state.shares()) + std::to_string(state.host_blocks()) + " host blocks\n";
}

std::string cached_text(BlockId block, std::optional<BlockId> parent) {
  return std::to_string(block.value) + " after " +
         (parent ? std::to_string(parent->value) : "nothing") + "\n";
}
std::string cached_text(const Scheduler& scheduler) {
  std::string text;
  const PrefixIndex& index = *scheduler.cache().index();
  for (const BlockId block : index.blocks()) text += cached_text(block, index.parent(block));
  return text;
}
std::string cached_text(const TraceState& state) {
  std::string text;
  for (const auto& [block, node] : state.cached().all()) text += cached_text(block, node.parent);
  return text;
}

using Random = std::mt19937;
std::uint32_t draw_below(Random& random, std::uint32_t limit) {
  return static_cast<std::uint32_t>(random() % limit);
}

Request any_request(Random& random) {
  Request r = request(1 + draw_below(random, 30), 1 + draw_below(random, 20));
  r.priority = Priority{static_cast<std::uint8_t>(draw_below(random, 3))};
  if (draw_below(random, 2) == 0) {
    r.client = ClientId{draw_below(random, 3)};
    r.user = UserId{draw_below(random, 2)};
    r.weight = 1 + draw_below(random, 3);
  }
  if (draw_below(random, 3) == 0) r.deadline_steps = 1 + draw_below(random, 40);
  if (draw_below(random, 3) == 0) r.session = SessionId{draw_below(random, 3)};
  return r;
}

class TraceStateFollows : public ::testing::TestWithParam<PreemptionPolicy> {};

TEST_P(TraceStateFollows, queue_batch_host_and_shares_of_the_scheduler) {
  const TraceHeader header{{.cache = {.num_blocks = 16, .block_size = 4, .num_host_blocks = 10},
                            .batch = {.max_batch_size = 5, .max_batch_tokens = 16},
                            .prefill_chunk_size = 7,
                            .priority_head_start = 3,
                            .preemption = GetParam(),
                            .swap_setup_cost = 2,
                            .swap_block_cost = 2}};
  testing::HashExecutor executor;
  executor.drafts = 3;
  executor.failing_steps = {40, 41, 90};
  executor.lost_steps = {60, 61, 200};
  testing::Recording run(header, executor);
  TraceState state(header.scheduler);
  Random random(7);
  std::size_t events_read = 0;
  std::uint64_t swapped = 0;
  for (int step = 0; step < 400; ++step) {
    if (draw_below(random, 3) == 0) run.submit(any_request(random));
    if (draw_below(random, 15) == 0) run.cancel(SeqId{1 + draw_below(random, 100)});
    if (draw_below(random, 40) == 0) run.release_session(SessionId{draw_below(random, 3)});
    if (draw_below(random, 60) == 0) run.clear_prefix_cache();
    run.step();
    std::istringstream lines(run.text());
    auto reader = TraceReader::open(lines).value();
    for (std::size_t i = 0; auto event = reader.next().value(); ++i) {
      if (i < events_read) continue;
      const auto applied = state.apply(*event);
      ASSERT_TRUE(applied) << applied.error();
      ++events_read;
    }
    ASSERT_EQ(text_of(state), text_of(run.scheduler())) << "after step " << step;
    ASSERT_EQ(cached_text(state), cached_text(run.scheduler())) << "after step " << step;
    ASSERT_EQ(state.next_step().value, static_cast<std::uint64_t>(step) + 1);
    ASSERT_EQ(state.waiting_count() + state.swapped_count() + state.running_count(),
              state.sequences().size());
    swapped += state.swapped_count();
  }
  EXPECT_EQ(swapped > 0, GetParam() != PreemptionPolicy::recompute);
}

INSTANTIATE_TEST_SUITE_P(Policies, TraceStateFollows,
                         ::testing::Values(PreemptionPolicy::automatic, PreemptionPolicy::recompute,
                                           PreemptionPolicy::swap));

/// A state with sequence 1 submitted and, after step 0, running.
TraceState running_state() {
  TraceState state({.cache = {.num_blocks = 4, .block_size = 2}});
  (void)state.apply(SubmitEvent{SeqId{1}, request(3, 2)});
  StepEvent step;
  step.plan.admitted = {{SeqId{1}}};
  step.plan.tables = {{SeqId{1}, 0, 0, 2}};
  step.plan.appended_blocks = {BlockId{0}, BlockId{1}};
  step.plan.slices = {{SeqId{1}, 0, 3, 0, true}};
  step.result.slices = {{.seq = SeqId{1}, .token_count = 1}};
  step.result.tokens = {TokenId{9}};
  EXPECT_TRUE(state.apply(step));
  return state;
}

TEST(TraceState, a_step_moves_a_sequence_through_prompt_and_output) {
  const TracedSequence sequence = *running_state().find(SeqId{1});
  EXPECT_EQ(sequence.place, Place::running);
  EXPECT_EQ(sequence.computed_tokens, 3u);
  EXPECT_EQ(sequence.output_tokens, 1u);
  EXPECT_FALSE(sequence.ends);
}

TEST(TraceState, events_that_contradict_those_before_are_errors) {
  const auto error = [](const TraceEvent& event) { return running_state().apply(event).error(); };
  const auto step = [](auto&& edit) {
    StepEvent event;
    event.plan.step = event.result.step = StepId{1};
    edit(event);
    return event;
  };
  EXPECT_EQ(error(SubmitEvent{SeqId{1}, request(1, 1)}), "sequence 1 is submitted twice");
  EXPECT_EQ(error(CancelEvent{SeqId{2}}), "sequence 2 is cancelled but not known");
  EXPECT_EQ(error(step([](StepEvent& e) { e.plan.step = StepId{3}; })),
            "step 3 stands where step 1 was to come");
  EXPECT_EQ(error(step([](StepEvent& e) { e.plan.finished = {{SeqId{2}}}; })),
            "sequence 2 is finished but not known");
  EXPECT_EQ(error(step([](StepEvent& e) { e.plan.preempted = {{SeqId{2}}}; })),
            "sequence 2 is preempted but does not run");
  EXPECT_EQ(error(step([](StepEvent& e) {
              e.plan.preempted = {{SeqId{1}, PreemptionMode::swap}};
            })),
            "sequence 1 is swapped with 0 copies left for its 2 blocks");
  EXPECT_EQ(error(step([](StepEvent& e) { e.plan.admitted = {{SeqId{1}}}; })),
            "sequence 1 is admitted but does not wait");
  EXPECT_EQ(error(step([](StepEvent& e) {
              e.plan.slices = {{SeqId{1}, 3, 1, 0, true}};
            })),
            "1 slices have 0 answers");
  const auto answered = [&](const SliceResult& answer) {
    return error(step([&](StepEvent& e) {
      e.plan.slices = {{SeqId{1}, 3, 1, 0, true}};
      e.result.slices = {answer};
    }));
  };
  EXPECT_EQ(answered({.seq = SeqId{2}, .token_count = 1}),
            "sequence 1 is answered by one of sequence 2");
  EXPECT_EQ(answered({.seq = SeqId{1}, .token_count = 3}),
            "sequence 1 gets 3 tokens for a slice of 1 with 0 drafts");
  const auto cached = [&](const CacheDelta& delta) {
    return error(step([&](StepEvent& e) { e.cache = delta; }));
  };
  EXPECT_EQ(cached({.removed = {BlockId{3}}}),
            "block 3 of the prefix cache is removed and is not there");
  EXPECT_EQ(cached({.stored = {{BlockId{3}, SeqId{1}, 1, BlockId{2}}}}),
            "block 3 of the prefix cache is stored after block 2, which is not there");
  EXPECT_EQ(cached({.stored = {{BlockId{3}, SeqId{1}, 0}, {BlockId{3}, SeqId{1}, 0}}}),
            "block 3 of the prefix cache is stored twice");
}

TEST(TraceState, when_all_kv_is_lost_the_batch_waits_again) {
  TraceState state = running_state();
  StepEvent step;
  step.plan.step = StepId{1};
  step.plan.slices = {{SeqId{1}, 3, 1, 0, true}};
  lose_step(step.plan, step.result);
  ASSERT_TRUE(state.apply(step));
  const TracedSequence& sequence = *state.find(SeqId{1});
  EXPECT_EQ(sequence.place, Place::waiting);
  EXPECT_EQ(sequence.computed_tokens, 0U);
  EXPECT_EQ(sequence.output_tokens, 1U);
  EXPECT_EQ(state.blocks().held_count(), 0U);
  EXPECT_EQ(state.queue().size(), 1U);

  step.result.tokens = {TokenId{1}};
  EXPECT_EQ(running_state().apply(step).error(), "tokens of a step that was lost");
}

TEST(TraceState, a_cached_block_is_removed_after_those_behind_it) {
  TraceState state = running_state();
  StepEvent step;
  step.plan.step = step.result.step = StepId{1};
  step.cache.stored = {{BlockId{3}, SeqId{1}, 0}, {BlockId{2}, SeqId{1}, 1, BlockId{3}}};
  ASSERT_TRUE(state.apply(step));
  EXPECT_EQ(state.cached().all().at(BlockId{2}).place, 1U);
  step.plan.step = step.result.step = StepId{2};
  step.cache = {.removed = {BlockId{3}}};
  EXPECT_EQ(state.apply(step).error(),
            "block 3 of the prefix cache is removed before those after it");
}

}  // namespace
}  // namespace forge::trace
