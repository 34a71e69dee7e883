#include "forge/trace/step_frame.h"

#include <gtest/gtest.h>

#include "trace/recorded_run.h"

namespace forge::trace {
namespace {

/// The frame of one step of `text`.
std::string frame(const std::string& text, std::uint64_t step, FrameOptions options = {}) {
  std::istringstream in(text);
  auto timeline = TraceTimeline::open(in).value();
  EXPECT_TRUE(timeline.seek(StepId{step}).value());
  if (options.title.empty()) options.title = "run.jsonl";
  options.last_step = 31;
  return step_frame(timeline, options);
}

TEST(StepFrame, shows_a_swap_with_queues_plan_and_result) {
  EXPECT_EQ(frame(testing::eventful_trace(), 13),
            "run.jsonl  step 13 of 0..31  line 21  link f3bac3be31a1e120\n"
            "held 9/14 blocks of 4, shared 2, host 6/8, batch 2/4, tokens 2/12\n"
            "\n"
            "blocks    ++3..32..3.223\n"
            "\n"
            "waiting   5 6v\n"
            "swapped   4~6\n"
            "running   3:+8/16 2:+8/16\n"
            "\n"
            "preempted 4~\n"
            "copies    [6 out]\n"
            "tables    2:4+12\n"
            "slices    3:21+1 2:16+1\n"
            "result    3=271 2=38\n"
            "cache     -12\n");
}

TEST(StepFrame, shows_what_was_asked_and_who_is_admitted_with_a_prefix) {
  EXPECT_EQ(frame(testing::eventful_trace(), 8),
            "run.jsonl  step 8 of 0..31  line 16  link 55604f73a8996a14\n"
            "held 8/14 blocks of 4, shared 3, host 0/8, batch 4/4, tokens 12/12\n"
            "\n"
            "blocks    +++..32445....\n"
            "\n"
            "waiting   6v\n"
            "swapped   -\n"
            "running   3:+1/16 2:+1/16 4:+1/16 5:+1/16\n"
            "\n"
            "asked     submit 2 (10+16), submit 3 (15+16), submit 4 (18+16),\n"
            "          submit 5 (12+16), submit 6 (9+20)\n"
            "admitted  3@12 2@8 4@12 5@11\n"
            "copies    [2>9]\n"
            "tables    3:0+0,1,2,5 2:0+0,1,6 4:0+0,1,2,7,8 5:0+0,1,9\n"
            "slices    3:12+3* 2:8+2* 4:12+6* 5:11+1*\n"
            "result    3=314 2=161 4=198 5=234\n"
            "cache     +7<2\n");
}

TEST(StepFrame, a_prompt_under_way_shows_how_far_it_is) {
  EXPECT_NE(frame(testing::eventful_trace(), 0).find("\nrunning   1:6/13\n"), std::string::npos);
}

/// 300 requests at once on 1,024 blocks.
std::string crowded_trace() {
  return testing::record(
      {{.cache = {.num_blocks = 1024, .block_size = 2}, .batch = {.max_batch_size = 64}}},
      std::vector<Request>(300, testing::request(25, 9)));
}

TEST(StepFrame, fits_the_screen_and_counts_what_it_leaves_out) {
  const std::string trace = crowded_trace();
  for (const auto& [width, height] : {std::pair{80u, 24u}, {40u, 20u}, {200u, 60u}}) {
    for (const std::uint64_t step : {0u, 3u}) {
      const std::string text = frame(trace, step, {.width = width, .height = height});
      const auto lines = testing::lines_of(text);
      EXPECT_LE(lines.size(), height) << text;
      for (const std::string& line : lines) EXPECT_LE(line.size(), width) << line;
      const bool has_room_for_all = width > 80 && step > 0;
      EXPECT_EQ(text.find(" more") == std::string::npos, has_room_for_all) << text;
    }
  }
  // What is shown of the queue and what is counted is all that waits.
  const auto lines = testing::lines_of(frame(trace, 0));
  std::size_t shown = 0;
  bool in_waiting = false;
  for (const std::string& line : lines) {
    if (line.rfind("waiting", 0) == 0) in_waiting = true;
    if (line.rfind("swapped", 0) == 0) break;
    if (!in_waiting) continue;
    std::istringstream words(line.substr(10));
    for (std::string word; words >> word;) {
      if (word == "more") continue;
      shown += word[0] == '+' ? std::stoul(word.substr(1)) : 1;
    }
  }
  EXPECT_EQ(shown, 300u - 64u);
}

TEST(StepFrame, a_long_title_keeps_its_end) {
  const std::string text =
      frame(testing::small_trace(), 0, {.title = std::string(100, 'x') + "/run.jsonl"});
  const std::string first = testing::lines_of(text)[0];
  EXPECT_EQ(first.substr(0, 4), "...x");
  EXPECT_NE(first.find("/run.jsonl  step 0 of "), std::string::npos);
  EXPECT_LE(first.size(), 80u);
}

}  // namespace
}  // namespace forge::trace
