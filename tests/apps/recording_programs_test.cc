// forge-infer and forge-bench when what they write to goes away: the trace's disk, the terminal,
// the reader of a pipe. Everybody still gets the right answer, and the trace is whole up to its
// end.
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "apps/programs.h"
#include "apps/server_process.h"

namespace forge::testing {
namespace {

using nlohmann::json;
using test::HttpClient;

std::string text_of(const std::string& answer) {
  return json::parse(answer)["choices"][0]["text"].get<std::string>();
}

class RecordingPrograms : public ProgramTest {
 protected:
  /// Replays the trace; the number of its steps.
  std::uint64_t replayed_steps(const std::string& name, const std::string& flags = "") const {
    const Outcome replay = run(FORGE_TRACE " replay " + flags + path(name));
    EXPECT_EQ(replay.status, 0) << replay.output;
    const std::size_t count = replay.output.rfind('\n', replay.output.find(" steps replayed"));
    return std::stoull(replay.output.substr(count == std::string::npos ? 0 : count + 1));
  }

  void expect_refused(const std::string& command, int status, const std::string& message) const {
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.status, status) << command;
    EXPECT_NE(outcome.output.find(message), std::string::npos) << command << '\n' << outcome.output;
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
};

TEST_F(RecordingPrograms, a_server_whose_outputs_are_gone_answers_what_it_has_begun) {
  ServerProcess server(path("t.jsonl"));
  ASSERT_TRUE(server.listens()) << server.said();
  HttpClient client(server.port());
  json question = ServerProcess::question(1500);
  question["stream"] = true;
  client.send(HttpClient::text("/v1/completions", question));
  ASSERT_EQ(client.read_header().status, 200U);
  ASSERT_TRUE(client.next_event()) << "it is in flight";
  server.close_output();
  server.send(SIGTERM);
  const std::vector<std::string> events = client.read_events();
  client.close();
  ASSERT_GE(events.size(), 2U);
  EXPECT_EQ(events.back(), "[DONE]");
  EXPECT_EQ(json::parse(events[events.size() - 2])["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(server.wait(), 0);
  EXPECT_GE(replayed_steps("t.jsonl"), 1500U);
}

TEST_F(RecordingPrograms, without_expose_text_a_trace_has_plans_and_lengths_alone) {
  ServerProcess server({"--trace", path("t.jsonl")});
  ASSERT_TRUE(server.listens()) << server.said();
  server.complete(20);
  EXPECT_EQ(server.end(), 0);
  std::ifstream file(path("t.jsonl"));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(text.find("\"tokens\":\"veiled\""), std::string::npos);
  EXPECT_EQ(text.find("\"logits\""), std::string::npos);
  const Outcome replay = run(FORGE_TRACE " replay " + path("t.jsonl"));
  EXPECT_EQ(replay.status, 0);
  EXPECT_NE(replay.output.find(" steps replayed: plans alone, since tokens are veiled, all equal"),
            std::string::npos)
      << replay.output;
  expect_refused(FORGE_TRACE " replay --target cpu " + path("t.jsonl"), 2,
                 "its tokens are veiled, so no model can run it again: record with --expose-text");
  expect_refused(FORGE_INFER " --addr 127.0.0.1:0 --trace-window 0 --expose-text", 2,
                 "--expose-text needs --trace, or a --trace-window");
}

TEST_F(RecordingPrograms, a_disk_that_fills_up_is_told_at_once_and_changes_no_answer) {
  constexpr rlim_t kBytes = 20'000;
  ServerProcess server(path("t.jsonl"), kBytes);
  ASSERT_TRUE(server.listens()) << server.said();
  const std::string expected = text_of(server.complete(40));
  EXPECT_EQ(server.health().json()["trace"]["state"], "recording");
  json health;
  for (;;) {  // each request makes the trace longer
    ASSERT_EQ(text_of(server.complete(40)), expected);
    health = server.health().json();
    if (health["trace"]["state"] == "failed") break;
  }
  EXPECT_EQ(health["trace"]["reason"], "File too large");
  EXPECT_EQ(health["status"], "ok");
  EXPECT_TRUE(server.says("forge-infer: --trace: cannot write '" + path("t.jsonl") +
                          "': File too large; the recording ends there\n"));
  EXPECT_EQ(text_of(server.complete(40)), expected) << "it goes on answering";
  const HttpClient::Response after = server.health();
  EXPECT_EQ(after.status, 200U);
  EXPECT_EQ(after.json()["trace"], health["trace"]);
  EXPECT_GT(after.json()["steps"], health["steps"]);

  EXPECT_EQ(server.end(), 1);
  const std::uint64_t steps = health["trace"]["steps"];
  EXPECT_NE(server.read_all().find("'" + path("t.jsonl") + "' has only the first " +
                                   std::to_string(steps) + " steps\n"),
            std::string::npos)
      << server.said();
  EXPECT_EQ(replayed_steps("t.jsonl"), steps) << "no hole, and no half line";
}

TEST_F(RecordingPrograms, a_pipe_that_loses_its_reader_is_told_at_once_and_changes_no_answer) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ServerProcess server(path("pipe"));
  ASSERT_TRUE(server.listens()) << server.said();
  const std::string expected = text_of(server.complete(5));
  close(reader);
  EXPECT_EQ(text_of(server.complete(5)), expected);
  EXPECT_TRUE(server.says("cannot write '" + path("pipe") + "': Broken pipe; the recording ends"));
  EXPECT_EQ(server.health().json()["trace"]["reason"], "Broken pipe");
  EXPECT_EQ(server.end(), 1);
}

TEST_F(RecordingPrograms, what_a_client_has_seen_is_in_the_trace_though_the_server_is_killed) {
  ServerProcess server(path("t.jsonl"));
  ASSERT_TRUE(server.listens()) << server.said();
  server.complete(50);
  server.send(SIGKILL);
  EXPECT_EQ(server.wait(), 128 + SIGKILL);
  // It may have been in the middle of the next line.
  EXPECT_GE(replayed_steps("t.jsonl", "--truncated "), 50U);
}

TEST_F(RecordingPrograms, grammars_are_in_the_trace_and_a_replay_makes_them_again) {
  ServerProcess server(path("t.jsonl"));
  ASSERT_TRUE(server.listens()) << server.said();
  json question = ServerProcess::question(60);
  question["ignore_eos"] = false;
  for (const json& patch :
       {json{{"regex", "[ab]{4}-[0-4]{5}"}}, json{{"choice", {"yes", "yesterday"}}},
        json{{"response_format", {{"type", "json_object"}}}},
        json{{"json_schema", {{"type", "array"}, {"items", {{"const", "\u00e9\\"}}}}}}}) {
    json body = question;
    body.update(patch);
    EXPECT_EQ(server.complete(body).status, 200U);
  }
  EXPECT_EQ(server.end(), 0);
  const std::uint64_t steps = replayed_steps("t.jsonl");
  EXPECT_GT(steps, 20U);
  EXPECT_EQ(replayed_steps("t.jsonl", "--target sim "), steps);
  EXPECT_EQ(run(FORGE_TRACE " show " + path("t.jsonl")).status, 0);

  std::string other = read_file(path("t.jsonl"));
  const std::size_t at = other.find("[0-4]{5}");
  ASSERT_NE(at, std::string::npos);
  other.replace(at, 8, "[7-9]{5}");
  write("other.jsonl", other);
  const Outcome differs = run(FORGE_TRACE " diff " + path("t.jsonl") + " " + path("other.jsonl"));
  EXPECT_EQ(differs.status, 1);
  EXPECT_NE(differs.output.find("submit.request.sampling.grammar"), std::string::npos)
      << differs.output;
  const Outcome replay = run(FORGE_TRACE " replay " + path("other.jsonl"));
  EXPECT_EQ(replay.status, 1);
  EXPECT_NE(replay.output.find("differs"), std::string::npos) << replay.output;
}

TEST_F(RecordingPrograms, the_health_answer_tells_of_a_trace_only_while_there_is_one) {
  ServerProcess without(std::vector<std::string>{"--trace-window", "0"});
  ASSERT_TRUE(without.listens()) << without.said();
  EXPECT_FALSE(without.health().json().contains("trace"));
  ServerProcess with("/dev/null");
  ASSERT_TRUE(with.listens()) << with.said();
  EXPECT_EQ(with.health().json()["trace"], (json{{"state", "recording"}, {"steps", 0}}));
  EXPECT_EQ(without.end(), 0);
  EXPECT_EQ(with.end(), 0);
}

TEST_F(RecordingPrograms, a_server_that_cannot_write_its_trace_does_not_start) {
  const std::string infer = FORGE_INFER " --addr 127.0.0.1:0 --trace ";
  expect_refused(infer + "/dev/full", 1, "cannot write '/dev/full': No space left on device");
  expect_refused(infer + path("no/folder"), 1, "folder': No such file or directory");
}

TEST_F(RecordingPrograms, no_program_overwrites_a_file) {
  write("kept", "of a crash\n");
  const std::string message =
      "--trace: '" + path("kept") + "' exists and is not overwritten: name another file or remove";
  expect_refused(FORGE_INFER " --addr 127.0.0.1:0 --trace " + path("kept"), 1, message);
  expect_refused(FORGE_BENCH " --requests 1 --trace " + path("kept"), 2, message);
  expect_refused(FORGE_BENCH " --target null --requests 1 --trace " + path("kept"), 2, message);
  EXPECT_EQ(read_file(path("kept")), "of a crash\n");
}

TEST_F(RecordingPrograms, two_servers_do_not_share_a_file) {
  write("t.jsonl", "");
  ServerProcess server(path("t.jsonl"));
  ASSERT_TRUE(server.listens()) << "an empty file is taken: " << server.said();
  expect_refused(FORGE_INFER " --addr 127.0.0.1:0 --trace " + path("t.jsonl"), 1,
                 "another program is recording into '" + path("t.jsonl") + "'");
  server.complete(3);
  EXPECT_EQ(server.end(), 0);
  EXPECT_GE(replayed_steps("t.jsonl"), 3U);
}

TEST_F(RecordingPrograms, a_server_that_cannot_listen_leaves_its_name_free_for_the_next_start) {
  ServerProcess server("");
  ASSERT_TRUE(server.listens()) << server.said();
  expect_refused(FORGE_INFER " --addr 127.0.0.1:" + std::to_string(server.port()) + " --trace " +
                     path("t.jsonl"),
                 1, "cannot listen");
  ServerProcess next(path("t.jsonl"));
  EXPECT_TRUE(next.listens()) << next.said();
  EXPECT_EQ(next.end(), 0);
}

TEST_F(RecordingPrograms, a_bench_whose_trace_cannot_be_written_finishes_and_says_so) {
  for (const std::string target : {"cpu --mode continuous", "null"}) {
    const Outcome bench = run(FORGE_BENCH " --requests 2 --trace /dev/full --target " + target);
    EXPECT_EQ(bench.status, 2);
    EXPECT_NE(bench.output.find("cannot write '/dev/full': No space left on device"),
              std::string::npos)
        << bench.output;
    EXPECT_NE(bench.output.find("'/dev/full' has only the beginning of the run"), std::string::npos)
        << bench.output;
    EXPECT_NE(bench.output.find("digest"), std::string::npos) << bench.output;
  }
}

TEST_F(RecordingPrograms, a_bench_whose_outputs_are_gone_still_writes_its_files) {
  ChildProcess bench({FORGE_BENCH, "--requests", "8", "--mode", "continuous", "--trace",
                      path("t.jsonl"), "--json", path("r.json")});
  bench.close_output();
  EXPECT_EQ(bench.wait(), 2) << "nobody has seen the results";
  EXPECT_GT(replayed_steps("t.jsonl"), 0U);
  EXPECT_FALSE(json::parse(read_file(path("r.json"))).empty());
}

}  // namespace
}  // namespace forge::testing
