// forge-bench and forge-trace as a user runs them: record, replay, edit, find the edit, look at it.
#include <poll.h>
#include <pty.h>
#include <termios.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "apps/programs.h"

namespace forge::apps {
namespace {

using testing::digest_after;
using testing::Outcome;
using testing::read_file;
using testing::run;

namespace fs = std::filesystem;

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

class TracePrograms : public testing::ProgramTest {
 protected:
  /// Records a run with preemptions; returns forge-bench's output.
  std::string record(const std::string& name, const std::string& flags) const {
    const Outcome bench = run(FORGE_BENCH " --trace " + path(name) + " " + flags);
    EXPECT_EQ(bench.status, 0) << bench.output;
    return bench.output;
  }
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
  // The first token of step 9's first slice, a decode: the last digit of [seq,first].
  const std::size_t step = text.find("{\"step\":{\"step\":9,");
  const std::size_t digit = text.find(']', text.find("\"slices\":[[", step)) - 1;
  ASSERT_LT(digit, text.find('\n', step));
  std::string edited = text;
  edited[digit] = text[digit] == '0' ? '1' : '0';
  write_file(path("edited.jsonl"), edited);

  const Outcome replay = run(FORGE_TRACE " replay " + path("edited.jsonl"));
  EXPECT_EQ(replay.status, 1);
  EXPECT_NE(replay.output.find("step 9 (line "), std::string::npos) << replay.output;
  EXPECT_NE(replay.output.find("step.slices[0].first: "), std::string::npos) << replay.output;
  const Outcome diff = run(FORGE_TRACE " diff " + path("t.jsonl") + " " + path("edited.jsonl"));
  EXPECT_EQ(diff.status, 1);
  EXPECT_NE(diff.output.find("step 9 (lines "), std::string::npos) << diff.output;
  EXPECT_NE(diff.output.find("step.slices[0].first: "), std::string::npos) << diff.output;
}

TEST_F(TracePrograms, show_prints_the_steps_asked_for) {
  record("t.jsonl", kSmallRun);
  const Outcome show = run(FORGE_TRACE " show " + path("t.jsonl") + " --from 1 --to 2");
  EXPECT_EQ(show.status, 0);
  EXPECT_NE(show.output.find("\n     1 "), std::string::npos) << show.output;
  EXPECT_NE(show.output.find("\n     2 "), std::string::npos) << show.output;
  EXPECT_EQ(show.output.find("\n     3 "), std::string::npos) << show.output;
}

TEST_F(TracePrograms, chunks_prefix_hits_and_swaps_replay_to_the_digest_of_the_bench) {
  const std::string bench =
      record("t.jsonl",
             "--requests 24 --num-blocks 60 --num-host-blocks 40 --block-size 4 "
             "--preemption swap --prefill-chunk-size 8 --max-batch-tokens 24 "
             "--mode continuous");
  const std::string text = read_file(path("t.jsonl"));
  EXPECT_NE(text.find("\"swap_in\""), std::string::npos);
  EXPECT_NE(text.find(",0,false]"), std::string::npos) << "no prompt ran in chunks";
  const Outcome replay = run(FORGE_TRACE " replay " + path("t.jsonl"));
  EXPECT_EQ(replay.status, 0) << replay.output;
  EXPECT_EQ(digest_after(replay.output, "all equal"), digest_after(bench, "continuous   digest"));
}

TEST_F(TracePrograms, bisect_finds_what_diff_finds_and_says_what_it_read) {
  record("a.jsonl", "--target null --requests 400 --num-blocks 60 --block-size 4");
  record("b.jsonl", "--target null --requests 400 --num-blocks 59 --block-size 4");
  const Outcome diff = run(FORGE_TRACE " diff " + path("a.jsonl") + " " + path("b.jsonl"));
  const Outcome bisect = run(FORGE_TRACE " bisect " + path("a.jsonl") + " " + path("b.jsonl"));
  EXPECT_EQ(bisect.status, 1);
  const auto without_places = [](std::string text) {
    const std::size_t open = text.find(" (");
    return text.erase(open, text.find(')', open) - open);
  };
  EXPECT_EQ(without_places(bisect.output).rfind(without_places(diff.output), 0), 0u)
      << bisect.output << diff.output;
  EXPECT_NE(bisect.output.find("\nread "), std::string::npos) << bisect.output;
  EXPECT_EQ(run(FORGE_TRACE " bisect " + path("a.jsonl") + " " + path("a.jsonl")).status, 0);
}

TEST_F(TracePrograms, stats_and_export_agree_with_the_bench) {
  record("t.jsonl", std::string("--target null --json ") + path("bench.json") +
                        " --requests 50 --num-blocks 60 --block-size 4");
  const auto bench = nlohmann::json::parse(read_file(path("bench.json")));
  const Outcome stats = run(FORGE_TRACE " stats --json " + path("t.jsonl"));
  ASSERT_EQ(stats.status, 0) << stats.output;
  const auto numbers = nlohmann::json::parse(stats.output);
  EXPECT_EQ(numbers["steps"], bench["steps"]);
  EXPECT_EQ(numbers["prefix_cache"]["hit_tokens"], bench["prefix_cache"]["hit_tokens"]);
  EXPECT_EQ(numbers["requests"], 50);
  EXPECT_EQ(run(FORGE_TRACE " stats " + path("t.jsonl")).output.rfind("requests      50", 0), 0u);

  const Outcome exported =
      run(FORGE_TRACE " export " + path("t.jsonl") + " --perfetto " + path("out.json"));
  EXPECT_EQ(exported.status, 0) << exported.output;
  const auto timeline = nlohmann::json::parse(read_file(path("out.json")));
  EXPECT_NE(exported.output.find(std::to_string(timeline["traceEvents"].size()) + " events"),
            std::string::npos);
}

TEST_F(TracePrograms, step_prints_one_step_or_refuses_without_a_terminal) {
  record("t.jsonl", kSmallRun);
  const Outcome plain = run(FORGE_TRACE " step " + path("t.jsonl") + " --at 3 --plain");
  EXPECT_EQ(plain.status, 0);
  EXPECT_EQ(plain.output.rfind("t.jsonl  step 3 of 0..", 0), 0u) << plain.output;
  EXPECT_EQ(plain.output.find('\x1b'), std::string::npos);
  const Outcome refused = run(FORGE_TRACE " step " + path("t.jsonl") + " < /dev/null");
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.output.find("the standard input is no terminal; --at N --plain prints"),
            std::string::npos)
      << refused.output;
}

TEST_F(TracePrograms, step_and_why_as_json_are_lines) {
  record("t.jsonl", kSmallRun);
  const std::string file = " " + path("t.jsonl");
  const Outcome steps = run(FORGE_TRACE " step --json --at 2 --to 4" + file);
  EXPECT_EQ(steps.status, 0);
  EXPECT_EQ(std::count(steps.output.begin(), steps.output.end(), '\n'), 3);
  EXPECT_EQ(steps.output.rfind("{\"step\":2,\"line\":", 0), 0U) << steps.output;
  EXPECT_EQ(run(FORGE_TRACE " step --json --at 2 --to 999999" + file).status, 0);
  const Outcome why = run(FORGE_TRACE " why --json --at 0" + file);
  EXPECT_EQ(why.output.rfind("{\"step\":0,\"victims\":[],\"turns\":[{\"seq\":1,", 0), 0U)
      << why.output;
  const Outcome story = run(FORGE_TRACE " why --json --seq 1" + file);
  EXPECT_EQ(story.output.rfind("{\"seq\":1,\"story\":[", 0), 0U) << story.output;
  const std::pair<const char*, const char*> refused[] = {
      {" step --to 4", "--to needs --json"},
      {" step --json --plain", "--plain or --json, not both"},
      {" step --json --at 4 --to 2", "--to 2 is before --at 4"},
      {" why --json --seq 999", "no sequence 999"}};
  for (const auto& [flags, words] : refused) {
    const Outcome outcome = run(std::string(FORGE_TRACE) + flags + file);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_NE(outcome.output.find(words), std::string::npos) << outcome.output;
  }
}

/// forge-trace step in a terminal of 80 x 24.
class StepSession {
 public:
  explicit StepSession(const std::string& file) {
    winsize window = {.ws_row = 24, .ws_col = 80};
    child_ = forkpty(&terminal_, nullptr, nullptr, &window);
    if (child_ == 0) {
      execl(FORGE_TRACE, "forge-trace", "step", file.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
  }
  ~StepSession() {
    if (child_ > 0 && !ended_) kill(child_, SIGKILL);
    if (child_ > 0 && !ended_) waitpid(child_, nullptr, 0);
    close(terminal_);
  }

  void type(std::string_view keys) {
    ASSERT_EQ(write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }

  /// Reads until `text` has come; what came before it is forgotten.
  bool sees(const std::string& text) {
    pollfd output{terminal_, POLLIN, 0};
    while (seen_.find(text) == std::string::npos) {
      std::array<char, 4096> buffer;
      if (poll(&output, 1, 10'000) <= 0) return false;
      const ssize_t count = read(terminal_, buffer.data(), buffer.size());
      if (count <= 0) return false;
      seen_.append(buffer.data(), static_cast<std::size_t>(count));
    }
    seen_.erase(0, seen_.find(text) + text.size());
    return true;
  }

  /// The status with which the program ends.
  int wait() {
    int status = 0;
    waitpid(child_, &status, 0);
    ended_ = true;
    return status;
  }

  /// Are line editing and echo on?
  bool is_cooked() const {
    termios state = {};
    return tcgetattr(terminal_, &state) == 0 && (state.c_lflag & ICANON) != 0 &&
           (state.c_lflag & ECHO) != 0;
  }
  const std::string& seen() const { return seen_; }

 private:
  int terminal_ = -1;
  pid_t child_ = -1;
  bool ended_ = false;
  std::string seen_;
};

TEST_F(TracePrograms, step_goes_forwards_and_backwards_by_keys) {
  record("t.jsonl", kSmallRun);
  StepSession session(path("t.jsonl"));
  ASSERT_TRUE(session.sees("step 0 of 0..")) << session.seen();
  ASSERT_TRUE(session.sees("q quit"));
  EXPECT_FALSE(session.is_cooked());
  for (const auto& [keys, shown] : {std::pair<const char*, const char*>{"n", "step 1 of"},
                                    {"\x1b[C", "step 2 of"},
                                    {"\x1b[B", "step 3 of"},
                                    {"p", "step 2 of"},
                                    {"\x1b[D", "step 1 of"},
                                    {"g1", "go to step (0.."},
                                    {"2\r", "step 12 of"},
                                    {"p", "step 11 of"}}) {
    session.type(keys);
    ASSERT_TRUE(session.sees(shown)) << keys << "\n" << session.seen();
    ASSERT_TRUE(*keys == 'g' || session.sees("q quit")) << keys;
  }
  session.type("q");
  EXPECT_TRUE(session.sees("\x1b[?1049l"));
  EXPECT_EQ(session.wait(), 0);
  EXPECT_TRUE(session.is_cooked());
}

TEST_F(TracePrograms, step_restores_the_terminal_on_ctrl_c) {
  record("t.jsonl", kSmallRun);
  StepSession session(path("t.jsonl"));
  ASSERT_TRUE(session.sees("q quit"));
  session.type("\x03");
  EXPECT_TRUE(session.sees("\x1b[?1049l"));
  const int status = session.wait();
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
  EXPECT_TRUE(session.is_cooked());
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
  for (const char* command : {"diff", "bisect"}) {
    const std::string both = std::string(FORGE_TRACE " ") + command + " ";
    expect_unusable(both + path("csv") + " " + path("csv"), "line 1, byte 0: not a Forge trace");
    expect_unusable(both + path("none") + " " + path("csv"), "cannot be read");
  }
  for (const char* command : {"show", "stats", "step --plain", "export --perfetto /dev/null"}) {
    expect_unusable(std::string(FORGE_TRACE " ") + command + " " + path("csv"),
                    path("csv") + ": line 1, byte 0: not a Forge trace");
  }
  record("t.jsonl", kSmallRun);
  const std::string text = read_file(path("t.jsonl"));
  write_file(path("cut"), text.substr(0, text.size() - 10));
  const std::string cut_at = ", byte " + std::to_string(text.size() - 10) +
                             ": the file ends within a line; --truncated takes the whole lines";
  expect_unusable(FORGE_TRACE " bisect " + path("t.jsonl") + " " + path("cut"), cut_at);
  for (const char* command : {"step --plain", "stats", "show", "replay"}) {
    expect_unusable(std::string(FORGE_TRACE " ") + command + " " + path("cut"), cut_at);
  }
  expect_unusable(FORGE_TRACE " step --plain --at 999999 " + path("t.jsonl"), "has the steps 0..");
  expect_unusable(FORGE_TRACE " export " + path("t.jsonl") + " --perfetto /dev/full",
                  "cannot write all of '/dev/full'");
  expect_unusable(FORGE_TRACE " frob", "A subcommand is required");
  expect_unusable(FORGE_BENCH " --workload " + path("none"), "cannot read");
  expect_unusable(FORGE_BENCH " --workload " + path("csv"), "line 2: ContextTokens 'x'");
  expect_unusable(FORGE_BENCH " --num-blocks 0", "--num-blocks: Value 0 not in range 1 to");
  expect_unusable(FORGE_BENCH " --mode sequential --mode speculative --trace " + path("t"),
                  "--trace records one run");
  expect_unusable(FORGE_BENCH " --requests 1 --trace " + path("no/such/folder"), "cannot write");
}

class TracesOfTraffic : public TracePrograms {
 protected:
  void expect_replay(const std::string& workload) const {
    const std::string bench = record("t.jsonl", "--workload " + workload +
                                                    " --requests 30 --num-blocks 128"
                                                    " --mode continuous");
    EXPECT_NE(read_file(path("t.jsonl")).find("\"preempted\""), std::string::npos) << bench;
    const Outcome replay = run(FORGE_TRACE " replay " + path("t.jsonl"));
    EXPECT_EQ(replay.status, 0) << replay.output;
    EXPECT_EQ(digest_after(replay.output, "all equal"), digest_after(bench, "continuous   digest"));
  }
};

TEST_F(TracesOfTraffic, replay_to_the_digest) { expect_replay(FORGE_GOLDEN_TRACES "/azure.csv"); }

TEST_F(TracesOfTraffic, extra_of_production_replay_to_the_digest) {
  if (!fs::exists(FORGE_AZURE_TRACE)) {
    GTEST_SKIP() << "an extra test: there is no " FORGE_AZURE_TRACE;
  }
  expect_replay(FORGE_AZURE_TRACE);
}

}  // namespace
}  // namespace forge::apps
