// forge-trace and what it reads and writes: traces that end within a line, outputs that go away.
#include <nlohmann/json.hpp>

#include "apps/child_process.h"
#include "apps/programs.h"

namespace forge::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSmallRun = "--requests 8 --num-blocks 40 --block-size 4";

class TraceFiles : public ProgramTest {
 protected:
  void record(const std::string& name, const std::string& flags) const {
    const Outcome bench = run(FORGE_BENCH " --trace " + path(name) + " " + flags);
    EXPECT_EQ(bench.status, 0) << bench.output;
  }
  static void write_file(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  static void expect_unusable(const std::string& command, const std::string& part) {
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_NE(outcome.output.find(part), std::string::npos) << outcome.output;
  }
};

TEST_F(TraceFiles, every_command_takes_the_whole_lines_of_a_truncated_trace) {
  record("t.jsonl", kSmallRun);
  const std::string text = read_file(path("t.jsonl"));
  const std::size_t last_line = text.rfind('\n', text.size() / 2) + 1;
  fs::create_directory(path("whole"));
  write_file(path("whole/t.jsonl"), text.substr(0, last_line));
  fs::create_directory(path("cut"));
  write_file(path("cut/t.jsonl"), text.substr(0, last_line + 17));
  const std::string note = "forge-trace: " + path("cut/t.jsonl") +
                           ": the last 17 bytes are no whole line and are left out\n";
  const std::string commands[] = {"replay ",
                                  "show ",
                                  "stats ",
                                  "step --plain --at 3 ",
                                  "export --perfetto /dev/null ",
                                  "diff " + path("t.jsonl") + " ",
                                  "bisect " + path("t.jsonl") + " "};
  for (const std::string& command : commands) {
    const Outcome whole = run(FORGE_TRACE " " + command + path("whole/t.jsonl"));
    const Outcome cut = run(FORGE_TRACE " " + command + "--truncated " + path("cut/t.jsonl"));
    EXPECT_EQ(cut.output, note + whole.output) << command;
    EXPECT_EQ(cut.status, whole.status) << command;
    EXPECT_NE(cut.status, 2) << command << cut.output;
  }
  const Outcome replay = run(FORGE_TRACE " replay --truncated " + path("whole/t.jsonl"));
  EXPECT_NE(replay.output.find("steps replayed, all equal"), std::string::npos);
  EXPECT_EQ(replay.output.find("left out"), std::string::npos)
      << "nothing is, at the end of a line";
}

TEST_F(TraceFiles, what_is_left_without_a_header_or_cannot_be_looked_at_is_refused) {
  record("t.jsonl", kSmallRun);
  const std::string text = read_file(path("t.jsonl"));
  write_file(path("cut"), text.substr(0, text.find('\n')));
  write_file(path("empty"), "");
  for (const char* command :
       {"replay ", "show ", "stats ", "step --plain ", "export --perfetto /dev/null ",
        "replay --truncated ", "step --plain --truncated "}) {
    expect_unusable(FORGE_TRACE " " + std::string(command) + path("cut"),
                    "not a Forge trace: the file ends within the first line, its header");
  }
  expect_unusable(FORGE_TRACE " stats --truncated " + path("empty"), "the file is empty");
  expect_unusable("cat " + path("t.jsonl") + " | " FORGE_TRACE " stats --truncated /dev/stdin",
                  "/dev/stdin: --truncated needs a file");
}

TEST_F(TraceFiles, without_a_reader_a_command_ends_as_a_filter_does_and_its_files_are_whole) {
  record("t.jsonl", "--target null --requests 400 --num-blocks 60 --block-size 4");
  ASSERT_GT(run(FORGE_TRACE " show " + path("t.jsonl")).output.size(), std::size_t{1} << 18)
      << "more than a pipe holds";
  ChildProcess show({FORGE_TRACE, "show", path("t.jsonl")});
  ASSERT_TRUE(show.says("admitted"));
  show.close_output();
  EXPECT_EQ(show.wait(), 128 + SIGPIPE);

  ChildProcess exported({FORGE_TRACE, "export", path("t.jsonl"), "--perfetto", path("out.json")});
  exported.close_output();
  EXPECT_EQ(exported.wait(), 128 + SIGPIPE);
  EXPECT_FALSE(nlohmann::json::parse(read_file(path("out.json")))["traceEvents"].empty());
}

TEST_F(TraceFiles, an_output_that_cannot_be_written_is_an_error) {
  record("t.jsonl", kSmallRun);
  for (const char* command : {"show ", "stats ", "replay "}) {
    const Outcome full =
        run("{ " FORGE_TRACE " " + std::string(command) + path("t.jsonl") + " > /dev/full; }");
    EXPECT_EQ(full.status, 2) << command;
    EXPECT_NE(full.output.find("the standard output has not taken everything"), std::string::npos)
        << full.output;
  }
  ChildProcess exported({FORGE_TRACE, "export", path("t.jsonl"), "--perfetto", path("out.json")},
                        1000);
  EXPECT_TRUE(exported.says("--perfetto: cannot write all of '" + path("out.json") + "'"));
  EXPECT_EQ(exported.wait(), 2);
}

}  // namespace
}  // namespace forge::testing
