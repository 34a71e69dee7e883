// A trace that ends within a line: what is left of it, wherever it was cut.
#include "forge/trace/whole_lines.h"

#include <gtest/gtest.h>

#include <sstream>

#include "forge/trace/replay.h"
#include "forge/trace/trace_bisect.h"
#include "forge/trace/trace_timeline.h"
#include "trace/recorded_run.h"

namespace forge::trace {
namespace {

using testing::HashExecutor;
using testing::small_trace;

std::string read_all(std::istream& in) { return {std::istreambuf_iterator<char>(in), {}}; }

std::string whole_lines_of(const std::string& text) { return text.substr(0, text.rfind('\n') + 1); }

TEST(WholeLines, are_those_before_the_cut_wherever_it_is) {
  const std::string text = small_trace();
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const std::string cut = text.substr(0, length);
    std::istringstream file(cut);
    const auto whole = WholeLines::open(*file.rdbuf());
    ASSERT_NE(whole, nullptr);
    const std::string expected = whole_lines_of(cut);
    ASSERT_EQ(read_all(whole->stream()), expected);
    ASSERT_EQ(whole->bytes(), expected.size());
    ASSERT_EQ(whole->bytes_left_out(), length - expected.size());
  }
}

TEST(WholeLines, of_a_file_that_ends_with_one_are_the_file) {
  std::istringstream file(small_trace());
  const auto whole = WholeLines::open(*file.rdbuf());
  EXPECT_EQ(whole->bytes_left_out(), 0u);
  EXPECT_EQ(read_all(whole->stream()), small_trace());
}

TEST(WholeLines, lines_longer_than_a_block_and_rests_longer_than_one_are_read) {
  const std::string line = std::string(200'000, 'x') + "\n";
  for (const std::size_t rest : {0u, 1u, 65'535u, 65'536u, 65'537u, 200'000u}) {
    std::istringstream file(line + line + std::string(rest, 'y'));
    const auto whole = WholeLines::open(*file.rdbuf());
    EXPECT_EQ(whole->bytes_left_out(), rest);
    EXPECT_EQ(read_all(whole->stream()), line + line);
  }
}

TEST(WholeLines, seek_like_a_file) {
  const std::string text = "first\nsecond\nthird\n";
  std::istringstream file(text + "cut");
  const auto whole = WholeLines::open(*file.rdbuf());
  std::istream& in = whole->stream();
  in.seekg(0, std::ios::end);
  EXPECT_EQ(in.tellg(), static_cast<std::streamoff>(text.size()));
  std::string line;
  for (const std::size_t start : {6u, 0u, 13u}) {
    in.clear();
    in.seekg(static_cast<std::streamoff>(start));
    std::getline(in, line);
    EXPECT_EQ(line + "\n", text.substr(start, text.find('\n', start) - start + 1));
  }
  in.seekg(-6, std::ios::cur);
  EXPECT_EQ(in.tellg(), 13);
  EXPECT_EQ(read_all(in), "third\n");
  in.clear();
  in.seekg(static_cast<std::streamoff>(text.size()) + 1);
  EXPECT_FALSE(in) << "beyond the end there is nothing";
}

/// Cannot seek, as a pipe cannot.
struct Pipe : std::stringbuf {
  pos_type seekoff(off_type, std::ios::seekdir, std::ios::openmode) override { return {-1}; }
};

TEST(WholeLines, of_a_pipe_cannot_be_known) {
  Pipe pipe;
  EXPECT_EQ(WholeLines::open(pipe), nullptr);
}

TEST(WholeLines, replay_as_the_shorter_run_that_they_are) {
  const std::string text = testing::eventful_trace();
  for (std::size_t length = testing::lines_of(text)[0].size() + 1; length <= text.size();
       length += 31) {
    std::istringstream file(text.substr(0, length));
    const auto whole = WholeLines::open(*file.rdbuf());
    auto reader = TraceReader::open(whole->stream()).value();
    HashExecutor executor;
    executor.drafts = 2;
    const auto report = replay(reader, executor, HashExecutor::kVocabulary);
    ASSERT_TRUE(report) << to_string(report.error());
    ASSERT_FALSE(report->difference) << length;
  }
}

TEST(WholeLines, are_stepped_through_and_bisected_without_the_rest) {
  const std::string text = testing::eventful_trace();
  std::istringstream file(text.substr(0, text.size() - 40));
  const auto whole = WholeLines::open(*file.rdbuf());
  auto timeline = TraceTimeline::open(whole->stream()).value();
  std::uint64_t steps = 0;
  while (timeline.seek(StepId{steps}).value()) ++steps;
  ASSERT_GT(steps, 3u);
  EXPECT_TRUE(timeline.seek(StepId{1}).value()) << "backwards";
  EXPECT_EQ(timeline.moment().step.plan.step, StepId{1});

  std::istringstream uncut(text);
  whole->stream().clear();
  whole->stream().seekg(0);
  const auto found = bisect(whole->stream(), uncut);
  ASSERT_TRUE(found) << to_string(found.error().error);
  EXPECT_EQ(found->comparison.equal_steps, steps);
  EXPECT_EQ(found->left.file_bytes, whole->bytes());
}

}  // namespace
}  // namespace forge::trace
