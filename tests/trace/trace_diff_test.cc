#include "forge/trace/trace_diff.h"

#include <gtest/gtest.h>

#include <sstream>

#include "trace/recorded_run.h"

namespace forge::trace {
namespace {

using testing::joined;
using testing::lines_of;
using testing::replaced;
using testing::small_trace;

tl::expected<TraceComparison, ComparisonError> differences(const std::string& left,
                                                           const std::string& right) {
  std::istringstream left_in(left);
  std::istringstream right_in(right);
  auto left_reader = TraceReader::open(left_in).value();
  auto right_reader = TraceReader::open(right_in).value();
  return compare(left_reader, right_reader);
}

TEST(FirstDifference, names_the_field_and_both_values) {
  StepPlan left;
  left.slices = {{SeqId{1}, 4, 1, 0, true}, {SeqId{2}, 0, 2, 0, true}};
  StepPlan right = left;
  EXPECT_EQ(first_difference(left, right), std::nullopt);
  right.slices[1].count = 1;
  EXPECT_EQ(to_string(*first_difference(left, right)), "slices[1].count: 2 against 1");
  right = left;
  right.slices[0].samples = false;
  EXPECT_EQ(to_string(*first_difference(left, right)), "slices[0].samples: true against false");
}

TEST(FirstDifference, a_longer_list_differs_in_size) {
  StepPlan left;
  left.admitted = {{SeqId{1}}};
  StepPlan right = left;
  right.admitted.push_back({SeqId{2}, 32});
  EXPECT_EQ(to_string(*first_difference(left, right)), "admitted.size: 1 against 2");
  left.admitted.push_back({SeqId{2}, 16});
  EXPECT_EQ(to_string(*first_difference(left, right)), "admitted[1].cached_tokens: 16 against 32");
}

TEST(FirstDifference, results_show_signals_by_name_and_logits_in_hexadecimal) {
  StepResult left;
  left.slices = {{.seq = SeqId{1}}};
  left.logits = {255};
  StepResult right = left;
  right.logits[0] = 254;
  EXPECT_EQ(to_string(*first_difference(left, right)),
            "logits[0]: 00000000000000ff against 00000000000000fe");
  right.slices[0].signal = FinishSignal::eos;
  EXPECT_EQ(to_string(*first_difference(left, right)),
            "slices[0].signal: \"none\" against \"eos\"");
}

TEST(FirstDifference, headers_differ_in_scheduler_or_target) {
  const TraceHeader left{{.cache = {.num_blocks = 6}}, {{"model", {{"layers", 2}}}}};
  TraceHeader right = left;
  right.target["model"]["layers"] = 3;
  EXPECT_EQ(to_string(*first_difference(left, right)), "target.model.layers: 2 against 3");
  right.scheduler.cache.num_blocks = 7;
  EXPECT_EQ(to_string(*first_difference(left, right)), "scheduler.num_blocks: 6 against 7");
  right = left;
  right.scheduler.prefix_cache = PrefixCacheKind::hash;
  EXPECT_EQ(to_string(*first_difference(left, right)),
            "scheduler.prefix_cache: \"radix\" against \"hash\"");
  right = left;
  right.target["threads"] = 1;
  EXPECT_EQ(to_string(*first_difference(left, right)), "target.threads: absent against 1");
}

TEST(FirstDifference, events_besides_steps_have_their_fields_too) {
  const TraceEvent left = SubmitEvent{SeqId{1}, {.session = SessionId{7}}};
  const TraceEvent right = SubmitEvent{SeqId{1}, {}};
  EXPECT_EQ(to_string(*first_difference(left, right)), "submit.request.session: 7 against absent");
  EXPECT_EQ(to_string(*first_difference(TraceEvent(ReleaseSessionEvent{SessionId{7}}),
                                        TraceEvent(ReleaseSessionEvent{SessionId{8}}))),
            "release_session.session: 7 against 8");
  EXPECT_EQ(to_string(*first_difference(left, TraceEvent(ClearPrefixCacheEvent{}))),
            "event: submit against clear_prefix_cache");
}

TEST(CompareTraces, equal_traces_have_no_difference) {
  const auto comparison = differences(small_trace(), small_trace()).value();
  EXPECT_TRUE(comparison.equal());
  EXPECT_GT(comparison.equal_steps, 5u);
}

TEST(CompareTraces, the_first_different_step_is_named_with_its_lines) {
  auto lines = lines_of(small_trace());
  const std::size_t line = testing::line_of_step(lines, 3);
  lines[line] = replaced(lines[line], "\"decodes\":", "\"copies\":[[\"within\",1,2]],\"decodes\":");
  const auto comparison = differences(small_trace(), joined(lines)).value();
  ASSERT_TRUE(comparison.event);
  EXPECT_EQ(comparison.equal_steps, 3u);
  EXPECT_EQ(comparison.event->step, StepId{3});
  EXPECT_EQ(comparison.event->left.line, line + 1);
  EXPECT_EQ(to_string(comparison.event->difference), "step.copies.size: 0 against 1");
}

TEST(CompareTraces, a_trace_that_ends_earlier_differs_there) {
  auto lines = lines_of(small_trace());
  lines.pop_back();
  const auto comparison = differences(joined(lines), small_trace()).value();
  ASSERT_TRUE(comparison.event);
  EXPECT_EQ(to_string(comparison.event->difference), "event: end of trace against step");
}

TEST(CompareTraces, a_different_header_does_not_hide_where_the_runs_part) {
  const auto comparison =
      differences(small_trace(), replaced(small_trace(), "\"hash\"", "\"other\"")).value();
  EXPECT_EQ(to_string(*comparison.header), "target.model: \"hash\" against \"other\"");
  EXPECT_FALSE(comparison.event);
  EXPECT_FALSE(comparison.equal());
}

TEST(CompareTraces, what_was_cached_differs_only_where_both_say_it) {
  const std::string text = testing::eventful_trace();
  const std::string other = replaced(text, "\"stored\":[[0,1,0]]", "\"stored\":[[0,1,1]]");
  EXPECT_EQ(to_string(differences(text, other).value().event->difference),
            "cache.stored[0].place: 0 against 1");
  const std::string silent = replaced(other, "\"forge_trace\":10", "\"forge_trace\":8");
  EXPECT_FALSE(differences(text, silent).value().event);
}

TEST(CompareTraces, an_unreadable_side_is_named) {
  const auto comparison = differences(small_trace(), small_trace() + "{");
  ASSERT_FALSE(comparison);
  EXPECT_FALSE(comparison.error().in_left);
}

}  // namespace
}  // namespace forge::trace
