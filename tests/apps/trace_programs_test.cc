// forge-bench and forge-trace as a user runs them: record, replay, edit, find the edit.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace {

namespace fs = std::filesystem;

struct Outcome {
  int status = 0;
  std::string output;  ///< stdout and stderr
};

Outcome run(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> buffer;
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    outcome.output.append(buffer.data(), n);
  }
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 255;
  return outcome;
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// The digest behind `label` in a program's output.
std::string digest_after(const std::string& output, const std::string& label) {
  const std::size_t at = output.find(label);
  const std::size_t digest = output.find("digest ", at);
  return at == output.npos || digest == output.npos ? "none" : output.substr(digest + 7, 16);
}

class TracePrograms : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "forge-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// Records a run with preemptions; returns forge-bench's output.
  std::string record(const std::string& name, const std::string& flags) const {
    const Outcome bench = run(FORGE_BENCH " --trace " + path(name) + " " + flags);
    EXPECT_EQ(bench.status, 0) << bench.output;
    return bench.output;
  }

  fs::path folder_;
};

constexpr const char* kSmallRun = "--requests 8 --num-blocks 40 --block-size 4";

TEST_F(TracePrograms, a_recorded_run_replays_to_the_digest_of_the_bench) {
  const std::string bench = record("t.jsonl", kSmallRun);
  EXPECT_NE(bench.find("All modes produced the same tokens"), std::string::npos) << bench;
  EXPECT_NE(read_file(path("t.jsonl")).find("\"preempted\""), std::string::npos);
  const Outcome replay = run(FORGE_TRACE " replay " + path("t.jsonl"));
  EXPECT_EQ(replay.status, 0) << replay.output;
  EXPECT_EQ(digest_after(replay.output, "all equal"), digest_after(bench, "\ncontinuous   digest"));
}

TEST_F(TracePrograms, a_speculative_run_replays_too) {
  const std::string bench = record("t.jsonl", std::string(kSmallRun) + " --mode speculative");
  const Outcome replay = run(FORGE_TRACE " replay " + path("t.jsonl"));
  EXPECT_EQ(replay.status, 0) << replay.output;
  EXPECT_EQ(digest_after(replay.output, "all equal"), digest_after(bench, "speculative  digest"));
}

TEST_F(TracePrograms, same_flags_give_the_same_trace) {
  record("a.jsonl", kSmallRun);
  record("b.jsonl", kSmallRun);
  EXPECT_EQ(read_file(path("a.jsonl")), read_file(path("b.jsonl")));
  EXPECT_EQ(run(FORGE_TRACE " diff " + path("a.jsonl") + " " + path("b.jsonl")).status, 0);
}

TEST_F(TracePrograms, a_one_byte_edit_of_a_plan_is_found_at_its_step) {
  record("t.jsonl", kSmallRun);
  const std::string text = read_file(path("t.jsonl"));
  // The count of the first slice of step 9, a decode: 1 becomes 2.
  const std::size_t step = text.find("{\"step\":{\"step\":9,");
  const std::size_t slices = text.find("\"slices\":[[", step);
  const std::size_t count = text.find(",1,0,true]", slices) + 1;
  ASSERT_LT(count, text.find('\n', step));
  std::string edited = text;
  edited[count] = '2';
  write_file(path("edited.jsonl"), edited);

  const Outcome replay = run(FORGE_TRACE " replay " + path("edited.jsonl"));
  EXPECT_EQ(replay.status, 1);
  EXPECT_NE(replay.output.find("step 9 (line "), std::string::npos) << replay.output;
  EXPECT_NE(replay.output.find("step.slices[0].count: 2 against 1"), std::string::npos)
      << replay.output;
  const Outcome diff = run(FORGE_TRACE " diff " + path("t.jsonl") + " " + path("edited.jsonl"));
  EXPECT_EQ(diff.status, 1);
  EXPECT_NE(diff.output.find("step.slices[0].count: 1 against 2"), std::string::npos)
      << diff.output;
}

TEST_F(TracePrograms, show_prints_the_steps_asked_for) {
  record("t.jsonl", kSmallRun);
  const Outcome show = run(FORGE_TRACE " show " + path("t.jsonl") + " --from 1 --to 2");
  EXPECT_EQ(show.status, 0);
  EXPECT_NE(show.output.find("\n     1 "), std::string::npos) << show.output;
  EXPECT_NE(show.output.find("\n     2 "), std::string::npos) << show.output;
  EXPECT_EQ(show.output.find("\n     3 "), std::string::npos) << show.output;
}

TEST_F(TracePrograms, unusable_input_exits_with_2_and_says_why) {
  const auto expect_unusable = [](const std::string& command, const std::string& part) {
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_NE(outcome.output.find(part), std::string::npos) << outcome.output;
  };
  write_file(path("csv"), "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6,x,1\n");
  expect_unusable(FORGE_TRACE " replay " + path("none"), "cannot be read");
  expect_unusable(FORGE_TRACE " replay " + path("csv"), "line 1, byte 0: not a Forge trace");
  expect_unusable(FORGE_TRACE " frob", "A subcommand is required");
  expect_unusable(FORGE_BENCH " --workload " + path("none"), "cannot read");
  expect_unusable(FORGE_BENCH " --workload " + path("csv"), "line 2: ContextTokens 'x'");
  expect_unusable(FORGE_BENCH " --num-blocks 0", "--num-blocks: Value 0 not in range 1 to");
  expect_unusable(FORGE_BENCH " --mode sequential --mode speculative --trace " + path("t"),
                  "--trace records one run");
  expect_unusable(FORGE_BENCH " --requests 1 --trace " + path("no/such/folder"), "cannot write");
}

TEST_F(TracePrograms, recorded_production_traffic_replays_to_the_digest) {
  if (!fs::exists(FORGE_AZURE_TRACE)) GTEST_SKIP() << "needs " FORGE_AZURE_TRACE;
  const std::string bench = record("t.jsonl", "--workload " FORGE_AZURE_TRACE
                                              " --requests 30 --num-blocks 128 --mode continuous");
  EXPECT_NE(read_file(path("t.jsonl")).find("\"preempted\""), std::string::npos) << bench;
  const Outcome replay = run(FORGE_TRACE " replay " + path("t.jsonl"));
  EXPECT_EQ(replay.status, 0) << replay.output;
  EXPECT_EQ(digest_after(replay.output, "all equal"), digest_after(bench, "continuous   digest"));
}

}  // namespace
