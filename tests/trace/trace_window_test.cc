// The last steps of a run, in memory: a trace of their own, whenever it is taken.
#include "forge/trace/trace_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <sstream>
#include <thread>

#include "forge/trace/replay.h"
#include "forge/trace/step_index.h"
#include "forge/trace/trace_json.h"
#include "trace/recorded_run.h"

namespace forge::trace {
namespace {

using testing::Recording;
using testing::request;

const TraceHeader kWindowHeader{
    .scheduler = {.cache = {.num_blocks = 32, .block_size = 4}, .batch = {.max_batch_size = 4}},
    .target = {{"model", "hash"}}};

/// Requests come and go, so that some are open whenever a part begins.
void keep_busy(Recording& run, int steps) {
  for (int i = 0; i < steps; ++i) {
    if (i % 5 == 0) run.submit(request(3 + static_cast<std::size_t>(i % 4), 12));
    run.step();
  }
}

/// The steps of a window; nothing if it does not replay to the digest of its last link.
std::optional<std::pair<std::uint64_t, std::uint64_t>> steps_of(const std::string& text) {
  std::istringstream in(text);
  auto reader = TraceReader::open(in);
  if (!reader) return std::nullopt;
  const auto report = replay_plans(*reader);
  if (!report || report->difference) return std::nullopt;
  std::istringstream again(text);
  const auto index = StepIndex::open(again);
  if (!index) return std::nullopt;
  return std::pair(index->first(), index->end());
}

TEST(TraceWindow, is_the_whole_trace_until_it_is_full) {
  TraceWindow window(std::uint64_t{1} << 20);
  EXPECT_EQ(window.text(), "");
  Recording run(kWindowHeader, {}, 0, {&window});
  EXPECT_EQ(window.text(), to_json_line(kWindowHeader) + "\n");
  keep_busy(run, 20);
  EXPECT_EQ(window.text(), run.text());
}

TEST(TraceWindow, has_the_last_steps_and_replays_without_those_before) {
  constexpr std::uint64_t kBytes = 40'000;
  TraceWindow window(kBytes);
  Recording run(kWindowHeader, {}, 0, {&window});
  std::uint64_t begun_late = 0;
  for (std::uint64_t steps = 10; steps <= 2000; steps += 10) {
    keep_busy(run, 10);
    const std::string text = window.text();
    EXPECT_LT(text.size(), kBytes + 2000) << "two lines more at most";
    const auto range = steps_of(text);
    ASSERT_TRUE(range.has_value()) << steps;
    EXPECT_EQ(range->second, steps);
    if (range->first > 0) {
      ++begun_late;
      EXPECT_GT(text.size(), kBytes / 2) << "half of it is there at least";
    }
  }
  EXPECT_GT(begun_late, 100U);
}

TEST(TraceWindow, leaves_the_other_trace_as_it_is) {
  TraceWindow window(20'000);
  Recording run(kWindowHeader, {}, 7, {&window});
  keep_busy(run, 200);
  EXPECT_GT(steps_of(window.text()).value().first, 0U);
  TraceWindow roomy(std::uint64_t{1} << 30);
  Recording same(kWindowHeader, {}, 7, {&roomy});
  keep_busy(same, 200);
  EXPECT_EQ(run.files(), same.files());
  EXPECT_EQ(run.writer().digest(), same.writer().digest());
  EXPECT_EQ(roomy.text().find("snapshot"), std::string::npos);
}

TEST(TraceWindow, goes_on_where_snapshots_are_larger_than_it) {
  TraceWindow window(0);
  Recording run(kWindowHeader, {}, 0, {&window});
  for (std::uint64_t step = 1; step <= 100; ++step) {
    keep_busy(run, 1);
    const auto range = steps_of(window.text());
    ASSERT_TRUE(range.has_value()) << step;
    EXPECT_EQ(range->second, step);
  }
}

TEST(TraceWindow, can_be_taken_while_it_is_written_to) {
  TraceWindow window(20'000);
  std::atomic<bool> has_ended = false;
  std::vector<std::string> taken;
  std::thread taker([&] {
    while (!has_ended) {
      taken.push_back(window.text());
      if (taken.size() > 50) taken.erase(taken.begin(), taken.begin() + 25);
    }
  });
  Recording run(kWindowHeader, {}, 0, {&window});
  keep_busy(run, 2000);
  has_ended = true;
  taker.join();
  taken.push_back(window.text());
  for (const std::string& text : taken) {
    std::istringstream in(text);
    auto reader = TraceReader::open(in);
    if (text.empty()) continue;
    ASSERT_TRUE(reader.has_value());
    const auto report = replay_plans(*reader);
    ASSERT_TRUE(report.has_value()) << to_string(report.error());
    EXPECT_FALSE(report->difference.has_value());
  }
}

}  // namespace
}  // namespace forge::trace
