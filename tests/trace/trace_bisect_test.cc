#include "forge/trace/trace_bisect.h"

#include <gtest/gtest.h>

#include <sstream>

#include "forge/trace/step_index.h"
#include "trace/recorded_run.h"

namespace forge::trace {
namespace {

using testing::joined;
using testing::lines_of;
using testing::request;

tl::expected<Bisection, ComparisonError> bisect_texts(const std::string& left,
                                                      const std::string& right) {
  std::istringstream left_in(left);
  std::istringstream right_in(right);
  return bisect(left_in, right_in);
}

TraceComparison compare_texts(const std::string& left, const std::string& right) {
  std::istringstream left_in(left);
  std::istringstream right_in(right);
  auto left_reader = TraceReader::open(left_in).value();
  auto right_reader = TraceReader::open(right_in).value();
  return compare(left_reader, right_reader).value();
}

std::string text_of(const TraceComparison& comparison) {
  std::string text = std::to_string(comparison.equal_steps) + " equal";
  if (comparison.header) text += "; header " + to_string(*comparison.header);
  if (!comparison.event) return text;
  return text + "; step " + std::to_string(comparison.event->step.value) + " bytes " +
         std::to_string(comparison.event->left.byte) + " " +
         std::to_string(comparison.event->right.byte) + " " +
         to_string(comparison.event->difference);
}

struct LongRun {
  int requests = 300;
  std::size_t prompt_tokens = 20;
  bool all_at_once = false;
  std::uint64_t cancelled_after = ~std::uint64_t{0};  ///< step after which somebody gives up
};

std::string record_long(const LongRun& options) {
  testing::Recording run(
      {{.cache = {.num_blocks = 64, .block_size = 4}, .batch = {.max_batch_size = 8}}});
  std::uint64_t step = 0;
  const auto advance = [&] {
    run.step();
    if (step++ == options.cancelled_after) run.cancel(run.scheduler().running().front().seq);
  };
  for (int i = 0; i < options.requests; ++i) {
    run.submit(request(options.prompt_tokens + i % 7, 40));
    for (int k = 0; k < 5 && !options.all_at_once; ++k) advance();
  }
  while (run.scheduler().has_work()) advance();
  return run.text();
}

TEST(StepIndex, finds_every_step_where_it_is) {
  const std::string text = record_long({});
  std::istringstream in(text);
  auto index = StepIndex::open(in).value();
  ASSERT_GT(index.end(), 1500u);
  for (const std::uint64_t step : {0u, 1u, 777u, 1499u, 3u}) {
    const StepIndex::Line line = index.find(StepId{step}).value();
    EXPECT_EQ(text.substr(line.begin, 17 + std::to_string(step).size()),
              "{\"step\":{\"step\":" + std::to_string(step) + ",")
        << step;
    EXPECT_EQ(text[line.end - 1], '\n');
  }
}

TEST(StepIndex, a_trace_without_steps_has_none) {
  std::istringstream in(lines_of(testing::small_trace())[0] + "\n");
  EXPECT_EQ(StepIndex::open(in)->end(), 0u);
}

TEST(Bisect, agrees_with_diff_wherever_two_runs_part) {
  const std::string left = record_long({});
  for (const std::uint64_t step : {0u, 1u, 2u, 500u, 1000u, 1491u}) {
    const std::string right = record_long({.cancelled_after = step});
    const TraceComparison found = bisect_texts(left, right).value().comparison;
    ASSERT_TRUE(found.event);
    EXPECT_EQ(text_of(found), text_of(compare_texts(left, right)));
    EXPECT_EQ(found.equal_steps, step + 1) << "somebody is cancelled after that step";
    EXPECT_EQ(text_of(bisect_texts(right, left)->comparison), text_of(compare_texts(right, left)));
  }
}

TEST(Bisect, names_the_field_of_a_step_that_differs) {
  testing::HashExecutor executor;
  const TraceHeader header{
      {.cache = {.num_blocks = 64, .block_size = 4}, .batch = {.max_batch_size = 8}}};
  const std::vector<Request> requests(30, request(20, 40));
  const std::string left = testing::record(header, requests, executor);
  executor.failing_steps = {31};
  const std::string right = testing::record(header, requests, executor);
  const TraceComparison found = bisect_texts(left, right)->comparison;
  EXPECT_EQ(found.event->step, StepId{31});
  EXPECT_EQ(found.event->difference.field.substr(0, 16), "result.slices[0]");
  EXPECT_EQ(text_of(found), text_of(compare_texts(left, right)));
}

TEST(Bisect, equal_runs_are_equal_and_a_run_that_ends_early_parts_there) {
  const std::string text = record_long({.requests = 40});
  EXPECT_TRUE(bisect_texts(text, text)->comparison.equal());
  std::string shorter = text;
  for (int i = 0; i < 9; ++i) shorter.erase(shorter.rfind('\n', shorter.size() - 2) + 1);
  EXPECT_EQ(text_of(bisect_texts(shorter, text)->comparison),
            text_of(compare_texts(shorter, text)));
  const std::string header_only = lines_of(text)[0] + "\n";
  EXPECT_EQ(to_string(bisect_texts(header_only, text)->comparison.event->difference),
            "event: end of trace against submit");
}

TEST(Bisect, a_different_header_does_not_hide_where_the_runs_part) {
  const std::string text = testing::small_trace();
  const std::string other = testing::replaced(text, "\"hash\"", "\"other\"");
  EXPECT_EQ(text_of(bisect_texts(text, other)->comparison), text_of(compare_texts(text, other)));
}

TEST(Bisect, reads_a_logarithmic_part_of_long_traces) {
  const std::string left = record_long({.requests = 4000});
  const std::string right = record_long({.requests = 4000, .cancelled_after = 13210});
  ASSERT_GT(left.size(), 10'000'000u);
  const Bisection found = bisect_texts(left, right).value();
  EXPECT_EQ(found.comparison.event->step, StepId{13211});
  // 15 steps are looked up; each takes a few reads of 4 KiB.
  for (const Bisection::Cost& cost : {found.left, found.right}) {
    EXPECT_GT(cost.file_bytes, 10'000'000u);
    EXPECT_LT(cost.bytes_read, 15u * 6 * 4096);
  }
}

TEST(Bisect, a_long_stretch_of_submissions_is_not_read) {
  const LongRun same{.requests = 3000, .prompt_tokens = 200, .all_at_once = true};
  LongRun other = same;
  other.cancelled_after = 3;
  const std::string left = record_long(same);
  const std::string right = record_long(other);
  const std::size_t submissions = left.find("{\"step\":");
  ASSERT_GT(submissions, 1'000'000u);
  const Bisection found = bisect_texts(left, right).value();
  EXPECT_EQ(found.comparison.event->step, StepId{4});
  EXPECT_LT(found.left.bytes_read + found.right.bytes_read, submissions);
}

TEST(Bisect, an_unreadable_side_is_named_with_line_and_byte) {
  const std::string text = record_long({.requests = 100});
  auto lines = lines_of(text);
  const auto error = [&](const std::string& right) {
    const auto found = bisect_texts(text, right);
    if (found) return std::string("none");
    EXPECT_FALSE(found.error().in_left);
    return to_string(found.error().error);
  };
  EXPECT_EQ(error(""), "line 1, byte 0: not a Forge trace: the file is empty");
  EXPECT_EQ(error("TIMESTAMP\n"),
            "line 1, byte 0: not a Forge trace: is not JSON in or right after 'T'");
  EXPECT_EQ(error(text.substr(0, text.size() - 1)),
            "line " + std::to_string(lines.size()) + ", byte " + std::to_string(text.size() - 1) +
                ": " + kEndsWithinLine);
  // The last step is always looked at.
  std::size_t last = lines.size() - 1;
  const std::size_t byte = text.size() - lines[last].size() - 1;
  auto damaged = lines;
  damaged[last][9] = '!';
  EXPECT_EQ(error(joined(damaged)),
            "line " + std::to_string(last + 1) + ", byte " + std::to_string(byte + 9) +
                ": is not JSON in or right after '" + damaged[last].substr(0, 10) + "'");
}

TEST(Bisect, steps_that_are_missing_or_out_of_order_are_an_error) {
  const std::string text = record_long({.requests = 100});
  const std::string other = record_long({.requests = 100, .cancelled_after = 300});
  auto lines = lines_of(other);
  for (std::size_t step = 1; step < 450; ++step) {
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(testing::line_of_step(lines, step)));
  }
  const auto missing = bisect_texts(text, joined(lines));
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().error.message.find(" is missing before step "), std::string::npos)
      << missing.error().error.message;
  lines = lines_of(other);
  std::reverse(lines.begin() + 1, lines.end() - 1);
  const auto reversed = bisect_texts(text, joined(lines));
  ASSERT_FALSE(reversed);
  EXPECT_NE(reversed.error().error.message.find(" stands "), std::string::npos)
      << reversed.error().error.message;
}

}  // namespace
}  // namespace forge::trace
