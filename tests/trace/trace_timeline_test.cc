#include "forge/trace/trace_timeline.h"

#include <gtest/gtest.h>

#include <random>

#include "trace/recorded_run.h"

namespace forge::trace {
namespace {

using testing::request;

/// Everything that a moment shows, as text.
std::string text_of(const TraceTimeline& timeline) {
  const TraceState& state = timeline.state();
  std::ostringstream text;
  text << "step " << timeline.moment().step.plan.step.value << " link "
       << timeline.moment().step.link << " line " << timeline.moment().line << " asked "
       << timeline.moment().asked.size() << " blocks " << state.blocks().text() << " host "
       << state.host_blocks();
  for (const TracedSequence* s : state.queue()) text << " w" << s->seq.value;
  for (const TracedSequence* s : state.batch()) {
    text << " r" << s->seq.value << ":" << s->computed_tokens << "+" << s->output_tokens;
  }
  return text.str();
}

/// The moments of all steps, from one pass forwards.
std::vector<std::string> all_moments(TraceTimeline& timeline) {
  std::vector<std::string> moments;
  while (timeline.seek(StepId{moments.size()}).value()) moments.push_back(text_of(timeline));
  return moments;
}

TEST(TraceTimeline, any_step_looks_the_same_from_wherever_one_comes) {
  std::istringstream in(testing::eventful_trace());
  auto timeline = TraceTimeline::open(in).value();
  const std::vector<std::string> moments = all_moments(timeline);
  ASSERT_GT(moments.size(), 25u);
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    const std::size_t step = random() % moments.size();
    ASSERT_TRUE(timeline.seek(StepId{step}).value());
    ASSERT_EQ(text_of(timeline), moments[step]);
  }
  for (std::size_t step = moments.size(); step-- > 0;) {
    ASSERT_TRUE(timeline.seek(StepId{step}).value());
    ASSERT_EQ(text_of(timeline), moments[step]);
  }
}

TEST(TraceTimeline, beyond_the_end_it_stays_at_the_last_step) {
  std::istringstream in(testing::small_trace());
  auto timeline = TraceTimeline::open(in).value();
  EXPECT_FALSE(timeline.seek(StepId{1000}).value());
  EXPECT_EQ(timeline.moment().step.plan.step, StepId{6});
  EXPECT_TRUE(timeline.seek(StepId{0}).value());
}

TEST(TraceTimeline, a_trace_without_steps_has_no_moment) {
  std::istringstream in(testing::lines_of(testing::small_trace())[0] + "\n");
  auto timeline = TraceTimeline::open(in).value();
  EXPECT_FALSE(timeline.seek(StepId{0}).value());
  EXPECT_FALSE(timeline.has_moment());
}

TEST(TraceTimeline, a_long_trace_has_a_bounded_number_of_checkpoints) {
  testing::HashExecutor executor;
  executor.logits_digests = false;
  std::istringstream in(testing::record(
      {{.cache = {.num_blocks = 2048, .block_size = 16}, .batch = {.max_batch_size = 1}}},
      {request(3, 20000)}, executor));
  auto timeline = TraceTimeline::open(in).value();
  ASSERT_TRUE(timeline.seek(StepId{19999}).value());
  EXPECT_LE(timeline.checkpoint_count(), TraceTimeline::kMaxCheckpoints);
  EXPECT_GT(timeline.checkpoint_count(), TraceTimeline::kMaxCheckpoints / 2 - 2);
  const std::string last = text_of(timeline);
  for (const std::uint64_t step : {19998u, 12345u, 7u}) {
    ASSERT_TRUE(timeline.seek(StepId{step}).value());
    EXPECT_EQ(timeline.moment().step.plan.step.value, step);
    EXPECT_EQ(timeline.state().find(SeqId{1})->output_tokens, step + 1);
  }
  ASSERT_TRUE(timeline.seek(StepId{19999}).value());
  EXPECT_EQ(text_of(timeline), last);
}

TEST(TraceTimeline, a_large_cache_has_fewer_checkpoints) {
  std::istringstream in(testing::record(
      {{.cache = {.num_blocks = 1u << 20, .block_size = 16}, .batch = {.max_batch_size = 1}}},
      {request(3, 1000)}));
  auto timeline = TraceTimeline::open(in).value();
  ASSERT_TRUE(timeline.seek(StepId{999}).value());
  EXPECT_LT(timeline.checkpoint_count(), 10u);
  EXPECT_TRUE(timeline.seek(StepId{0}).value());
}

TEST(TraceTimeline, contradictions_are_errors_with_their_line) {
  auto lines = testing::lines_of(testing::small_trace());
  const std::size_t line = testing::line_of_step(lines, 2);
  lines[line] = testing::replaced(lines[line], "[[1,3,0]]", "[[1,9,0]]");
  std::istringstream in(testing::joined(lines));
  auto timeline = TraceTimeline::open(in).value();
  const auto sought = timeline.seek(StepId{4});
  ASSERT_FALSE(sought);
  EXPECT_EQ(sought.error().line, line + 1);
  EXPECT_EQ(sought.error().message, "table of sequence 1: truncated to 9 of 3 blocks");
}

}  // namespace
}  // namespace forge::trace
