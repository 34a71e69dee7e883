// forge-infer that records for long: into files that are bounded, and until they are full.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "apps/programs.h"
#include "apps/server_process.h"

namespace forge::testing {
namespace {

using nlohmann::json;
using test::HttpClient;
using ::testing::HasSubstr;

class BoundedRecordings : public ProgramTest {
 protected:
  /// Letters at once, recorded within `limits`.
  static std::vector<std::string> flags(const std::string& trace,
                                        const std::vector<std::string>& limits) {
    std::vector<std::string> flags{"--target", "null", "--trace", trace};
    flags.insert(flags.end(), limits.begin(), limits.end());
    return flags;
  }
  /// About a hundred bytes of trace a token.
  static HttpClient::Response ask(const ServerProcess& server, int tokens) {
    json body = ServerProcess::question(tokens);
    body["model"] = "null";
    return server.complete(body);
  }
  std::vector<std::string> files() const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(path(""))) {
      files.push_back(entry.path().string());
    }
    std::ranges::sort(files);
    return files;
  }
};

TEST_F(BoundedRecordings, go_on_in_files_that_replay_together_and_each_by_itself) {
  ServerProcess server(flags(path("run.jsonl"), {"--trace-size", "65536"}));
  ASSERT_TRUE(server.listens()) << server.said();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(server, 500).status, 200U);
  EXPECT_EQ(server.end(), 0);
  const std::vector<std::string> all = files();
  ASSERT_GT(all.size(), 2U);
  EXPECT_EQ(all.front(), path("run.000001.jsonl"));
  std::string together;
  for (const std::string& file : all) {
    together += " " + file;
    const Outcome alone = run(FORGE_TRACE " replay " + file);
    EXPECT_EQ(alone.status, 0) << alone.output;
  }
  const Outcome replayed = run(FORGE_TRACE " replay" + together);
  EXPECT_EQ(replayed.status, 0) << replayed.output;
  EXPECT_THAT(run(FORGE_TRACE " stats" + together).output, HasSubstr("requests      5"));
  const Outcome torn = run(FORGE_TRACE " stats " + all[0] + " " + all[2]);
  EXPECT_EQ(torn.status, 2);
  EXPECT_THAT(torn.output, HasSubstr(all[2] + ": line "));
  EXPECT_THAT(torn.output, HasSubstr("one of the sequence is missing"));
}

TEST_F(BoundedRecordings, keep_the_newest_files_and_go_on_after_a_restart) {
  for (int start = 0; start < 2; ++start) {
    ServerProcess server(flags(path("run.jsonl"), {"--trace-size", "65536", "--trace-keep", "2"}));
    ASSERT_TRUE(server.listens()) << server.said();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(server, 500).status, 200U);
    EXPECT_EQ(server.end(), 0);
    EXPECT_EQ(files().size(), start == 0 ? 2U : 4U) << "those of the run before are not its own";
  }
}

TEST_F(BoundedRecordings, end_at_their_limit_and_the_server_goes_on) {
  ServerProcess server(flags(path("run.jsonl"), {"--trace-total", "65536"}));
  ASSERT_TRUE(server.listens()) << server.said();
  const auto metrics = [&server] { return HttpClient(server.port()).get("/metrics").body; };
  EXPECT_THAT(metrics(), ::testing::ContainsRegex("forge:trace_failed\\{[^\n]*\\} 0\n"));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(server, 500).status, 200U);
  const json health = server.health().json();
  EXPECT_EQ(health["status"], "ok");
  EXPECT_EQ(health["trace"]["state"], "failed");
  EXPECT_THAT(health["trace"]["reason"].get<std::string>(), HasSubstr("limit of 65536 bytes"));
  EXPECT_THAT(metrics(), ::testing::ContainsRegex("forge:trace_failed\\{[^\n]*\\} 1\n"));
  EXPECT_EQ(server.end(), 1);
  EXPECT_THAT(server.read_all(), HasSubstr("the recording ends there"));
  EXPECT_LE(std::filesystem::file_size(path("run.jsonl")), 65536U);
  EXPECT_EQ(run(FORGE_TRACE " replay " + path("run.jsonl")).status, 0);
}

TEST_F(BoundedRecordings, know_a_request_by_its_traceparent) {
  ServerProcess server(flags(path("run.jsonl"), {}));
  ASSERT_TRUE(server.listens()) << server.said();
  const std::string id = "4bf92f3577b34da6a3ce929d0e0e4736";
  json body = ServerProcess::question(3);
  body["model"] = "null";
  HttpClient client(server.port());
  client.send(HttpClient::text("POST", "/v1/completions", body.dump(),
                               {{"Content-Type", "application/json"},
                                {"traceparent", "00-" + id + "-00f067aa0ba902b7-01"}}));
  EXPECT_EQ(client.read().status, 200U);
  EXPECT_EQ(ask(server, 3).status, 200U);
  client.close();
  EXPECT_EQ(server.end(), 0);
  const std::string trace = read_file(path("run.jsonl"));
  EXPECT_THAT(trace, HasSubstr(R"(},"trace_id":")" + id + R"("}})"));
  EXPECT_EQ(trace.find("trace_id"), trace.rfind("trace_id")) << "the other one came without";
  EXPECT_EQ(
      run(FORGE_TRACE " export --perfetto " + path("out.json") + " " + path("run.jsonl")).status,
      0);
  EXPECT_THAT(read_file(path("out.json")), HasSubstr(R"("trace_id":")" + id + '"'));
}

/// The steps that a server keeps, as a file.
class LastSteps : public BoundedRecordings {
 protected:
  std::string taken(const ServerProcess& server, const std::string& name) {
    const auto response = HttpClient(server.port()).get("/forge/v1/trace");
    EXPECT_EQ(response.status, 200U) << response.body;
    std::ofstream(path(name), std::ios::binary) << response.body;
    return path(name);
  }
  /// The steps of a trace that replays: {first, how many}.
  static std::pair<int, int> replayed(const std::string& trace) {
    const Outcome outcome = run(FORGE_TRACE " replay " + trace);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    const Outcome steps = run(FORGE_TRACE " step " + trace + " --json --to 100000000");
    const auto first = json::parse(steps.output.substr(0, steps.output.find('\n')));
    return {first["step"].get<int>(), static_cast<int>(std::ranges::count(steps.output, '\n'))};
  }
};

TEST_F(LastSteps, are_kept_in_memory_and_replay) {
  ServerProcess server(std::vector<std::string>{"--target", "null"});
  ASSERT_TRUE(server.listens()) << server.said();
  EXPECT_EQ(ask(server, 100).status, 200U);
  const auto [first, steps] = replayed(taken(server, "steps.jsonl"));
  EXPECT_EQ(first, 0);
  EXPECT_GE(steps, 100);
}

TEST_F(LastSteps, are_the_last_ones_where_a_window_is_small_and_a_file_has_them_all) {
  ServerProcess server(flags(path("run.jsonl"), {"--trace-window", "65536"}));
  ASSERT_TRUE(server.listens()) << server.said();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(ask(server, 500).status, 200U);
  const auto [first, steps] = replayed(taken(server, "steps.jsonl"));
  EXPECT_GT(first, 0);
  EXPECT_EQ(server.end(), 0);
  EXPECT_LT(2 * std::filesystem::file_size(path("steps.jsonl")),
            std::filesystem::file_size(path("run.jsonl")));
  const auto [begun, all] = replayed(path("run.jsonl"));
  EXPECT_EQ(begun, 0);
  EXPECT_LE(first + steps, all);
  EXPECT_EQ(read_file(path("run.jsonl")).find("snapshot"), std::string::npos);
}

TEST_F(LastSteps, are_not_kept_where_there_is_no_window) {
  ServerProcess server(std::vector<std::string>{"--target", "null", "--trace-window", "0"});
  ASSERT_TRUE(server.listens()) << server.said();
  EXPECT_EQ(HttpClient(server.port()).get("/forge/v1/trace").status, 404U);
  EXPECT_FALSE(server.health().json().contains("trace"));
}

TEST_F(LastSteps, of_a_large_cache_are_kept_where_somebody_wants_them) {
  const auto status = [](std::vector<std::string> more) {
    std::vector<std::string> words{"--target", "null", "--num-blocks"};
    words.insert(words.end(), more.begin(), more.end());
    ServerProcess server(words);
    EXPECT_TRUE(server.listens()) << server.said();
    return HttpClient(server.port()).get("/forge/v1/trace").status;
  };
  EXPECT_EQ(status({"8192"}), 200U);
  EXPECT_EQ(status({"8193"}), 404U);
  EXPECT_EQ(status({"8193", "--trace-window", "65536"}), 200U);
  EXPECT_EQ(status({"8193", "--expose-text"}), 200U);
}

TEST_F(LastSteps, have_tokens_only_where_these_may_be_told) {
  for (const bool exposes : {false, true}) {
    std::vector<std::string> words{"--target", "null"};
    if (exposes) words.emplace_back("--expose-text");
    ServerProcess server(words);
    ASSERT_TRUE(server.listens()) << server.said();
    EXPECT_EQ(ask(server, 3).status, 200U);
    const std::string steps = read_file(taken(server, "steps.jsonl"));
    EXPECT_EQ(steps.find(R"("tokens":"veiled")") == std::string::npos, exposes);
  }
}

TEST_F(BoundedRecordings, refuse_limits_that_make_no_sense) {
  const std::string infer = FORGE_INFER " --target null --addr 127.0.0.1:0 ";
  const std::pair<const char*, const char*> wrong[] = {
      {"--trace-size 65536", "--trace-size needs --trace"},
      {"--trace-total 65536", "--trace-total needs --trace"},
      {"--trace t --trace-keep 2", "--trace-keep needs --trace-size"},
      {"--trace t --trace-size 1", "--trace-size: Value 1 not in range"},
      {"--trace t --trace-size 131072 --trace-total 65536",
       "--trace-total 65536 is less than --trace-size 131072"}};
  for (const auto& [flags, said] : wrong) {
    const Outcome outcome = run(infer + flags);
    EXPECT_EQ(outcome.status, 2) << flags;
    EXPECT_THAT(outcome.output, HasSubstr(said)) << flags;
  }
}

}  // namespace
}  // namespace forge::testing
