#include "forge/trace/trace_show.h"

#include <gtest/gtest.h>

#include <sstream>

#include "trace/recorded_run.h"

namespace forge::trace {
namespace {

std::string shown(const std::string& text, const StepRange& range = {}) {
  std::istringstream in(text);
  auto reader = TraceReader::open(in).value();
  std::ostringstream out;
  const auto steps = show(reader, range, out);
  return steps ? out.str() : "error: " + to_string(steps.error());
}

TEST(TraceShow, a_small_cache_has_its_map_in_the_row) {
  EXPECT_EQ(shown(testing::small_trace()),
            "  step  admitted  resumed   preempted  finished      slices                 blocks\n"
            "     0  1 2 3                                        1:0+2* 2:0+3* 3:0+1*   112223\n"
            "     1                      3 2                      1:2+1                  111...\n"
            "     2                                 3 cancelled   1:3+1                  1111..\n"
            "     3                                               1:4+1                  11111.\n"
            "     4            2                    1 length      2:0+4*                 2222..\n"
            "     5                                               2:4+1                  22222.\n"
            "     6                                 2 length                             ......\n");
}

TEST(TraceShow, a_range_shows_its_steps_with_the_map_as_it_is_then) {
  const std::string all = shown(testing::small_trace());
  const auto lines = testing::lines_of(all);
  EXPECT_EQ(shown(testing::small_trace(), {.from = 2, .to = 3}),
            lines[0] + "\n" + lines[3] + "\n" + lines[4] + "\n");
  EXPECT_EQ(shown(testing::small_trace(), {.from = 1000}), "");
}

TEST(TraceShow, a_large_cache_has_its_map_below_in_rows_of_64) {
  const std::string text =
      shown(testing::record(
                {{.cache = {.num_blocks = 150, .block_size = 1}, .batch = {.max_batch_size = 4}}},
                {testing::request(70, 1)}),
            {.to = 0});
  const auto lines = testing::lines_of(text);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[2], "               0  " + std::string(64, '1'));
  EXPECT_EQ(lines[3], "              64  " + std::string(6, '1') + std::string(58, '.'));
  EXPECT_EQ(lines[4], "             128  " + std::string(22, '.'));
}

TEST(TraceShow, lines_stay_within_100_columns) {
  for (const std::uint32_t blocks : {24u, 512u}) {
    const std::string text = testing::record(
        {{.cache = {.num_blocks = blocks, .block_size = 16}, .batch = {.max_batch_size = 16}}},
        std::vector<Request>(40, testing::request(20, 9)));
    for (const std::string& line : testing::lines_of(shown(text))) {
      EXPECT_LE(line.size(), 100u) << line;
    }
  }
}

TEST(TraceShow, contradictory_deltas_are_an_error_with_their_step) {
  auto lines = testing::lines_of(testing::small_trace());
  std::string& line = lines[testing::line_of_step(lines, 0)];
  line = testing::replaced(line, "\"appended_blocks\":[0,", "\"appended_blocks\":[1,");
  EXPECT_NE(
      shown(testing::joined(lines)).find("step 0: slice of sequence 1: block 1 is written twice"),
      std::string::npos);
}

}  // namespace
}  // namespace forge::trace
