// forge-infer as a process: its limits, its flags, and how it ends.
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "apps/programs.h"
#include "apps/server_process.h"

namespace forge::testing {
namespace {

using nlohmann::json;
using test::HttpClient;

/// A stream that is under way.
std::unique_ptr<HttpClient> begun(const ServerProcess& server, int tokens) {
  auto client = std::make_unique<HttpClient>(server.port());
  json question = ServerProcess::question(tokens);
  question["stream"] = true;
  client->send(HttpClient::text("/v1/completions", question));
  EXPECT_EQ(client->read_header().status, 200U);
  EXPECT_TRUE(client->next_event());
  return client;
}

/// Why the stream ended.
std::string finish_of(HttpClient& client) {
  const std::vector<std::string> events = client.read_events();
  client.close();
  if (events.size() < 2 || events.back() != "[DONE]") return "broken off";
  return json::parse(events[events.size() - 2])["choices"][0]["finish_reason"];
}

TEST(InferPrograms, each_signal_of_an_end_lets_what_has_begun_be_answered) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    ServerProcess server(std::vector<std::string>{});
    ASSERT_TRUE(server.listens()) << server.said();
    const auto client = begun(server, 1500);
    server.send(signal);
    EXPECT_EQ(finish_of(*client), "length") << signal;
    EXPECT_EQ(server.wait(), 0) << signal;
  }
}

TEST(InferPrograms, a_hangup_is_never_the_second_signal_that_ends_at_once) {
  ServerProcess server(std::vector<std::string>{});
  ASSERT_TRUE(server.listens()) << server.said();
  const auto client = begun(server, 3000);
  server.send(SIGHUP);
  ASSERT_TRUE(server.says("answering what is in flight"));
  server.send(SIGHUP);
  EXPECT_EQ(finish_of(*client), "length");
  EXPECT_EQ(server.wait(), 0);
}

TEST(InferPrograms, a_hangup_that_was_ignored_at_the_start_is_ignored) {
  std::signal(SIGHUP, SIG_IGN);  // as nohup does; a child inherits it
  ServerProcess server(std::vector<std::string>{});
  std::signal(SIGHUP, SIG_DFL);
  ASSERT_TRUE(server.listens()) << server.said();
  server.send(SIGHUP);
  EXPECT_EQ(server.health().status, 200U);
  EXPECT_EQ(server.end(), 0);
}

TEST(InferPrograms, what_is_not_done_within_the_shutdown_timeout_ends_with_what_it_has) {
  ServerProcess server({"--shutdown-timeout-s", "0.001", "--num-blocks", "40000"});
  ASSERT_TRUE(server.listens()) << server.said();
  const auto client = begun(server, 600'000);
  server.send(SIGTERM);
  EXPECT_EQ(finish_of(*client), "deadline");
  EXPECT_EQ(server.wait(), 0);
}

TEST(InferPrograms, more_connections_than_files_keep_nobody_out) {
  const std::string limited = "ulimit -n 70; exec " FORGE_INFER " --addr 127.0.0.1:0";
  ChildProcess server({"/bin/sh", "-c", limited});
  ASSERT_TRUE(server.says("max_tokens\": 64}'\n")) << server.said();
  EXPECT_NE(server.said().find("--max-connections is 6 instead of 512"), std::string::npos)
      << server.said();
  const std::size_t at = server.said().find("127.0.0.1:") + 10;
  const auto port = static_cast<std::uint16_t>(std::stoi(server.said().substr(at)));
  std::vector<std::unique_ptr<HttpClient>> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(std::make_unique<HttpClient>(port));
  EXPECT_EQ(HttpClient(port).get("/health").status, 200U);
  EXPECT_EQ(HttpClient(port).post("/v1/completions", ServerProcess::question(3)).status, 200U);
  server.send(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
}

class KeyPrograms : public ProgramTest {
 protected:
  /// A new key, and its line in the file of keys.
  std::string add_key(const std::string& owner, bool append) {
    const Outcome made = run(FORGE_INFER " --make-key " + owner);
    EXPECT_EQ(made.status, 0) << made.output;
    const auto last_word = [&made](const std::string& label) {
      const std::size_t line = made.output.find(label);
      const std::size_t end = made.output.find('\n', line);
      const std::size_t space = made.output.rfind(' ', end);
      return made.output.substr(space + 1, end - space - 1);
    };
    std::ofstream(path("keys"), append ? std::ios::app : std::ios::trunc)
        << last_word("line for") << '\n';
    std::filesystem::permissions(path("keys"), std::filesystem::perms(0600));
    return last_word("key (for");
  }
  static unsigned models_of(const ServerProcess& server, const std::string& key) {
    HttpClient client(server.port());
    client.send(HttpClient::text("GET", "/v1/models", "", {{"Authorization", "Bearer " + key}}));
    return client.read().status;
  }
};

TEST_F(KeyPrograms, keys_are_read_again_on_a_hangup) {
  const std::string alice = add_key("alice:client", false);
  ServerProcess server({"--api-key-file", path("keys")});
  EXPECT_EQ(models_of(server, alice), 200U);
  EXPECT_EQ(models_of(server, "fk-0"), 401U);
  EXPECT_EQ(server.health().status, 401U);

  const std::string bob = add_key("bob:client", true);
  EXPECT_EQ(models_of(server, bob), 401U);
  server.send(SIGHUP);
  ASSERT_TRUE(server.says("--api-key-file: 2 keys\n"));
  EXPECT_EQ(models_of(server, bob), 200U);

  std::ofstream(path("keys"), std::ios::app) << "nonsense\n";
  server.send(SIGHUP);
  ASSERT_TRUE(server.says("line 3: there is no ':'")) << server.said();
  EXPECT_EQ(models_of(server, bob), 200U) << "the keys are those of before";

  add_key("carol:client", false);
  server.send(SIGHUP);
  ASSERT_TRUE(server.says("--api-key-file: 1 keys\n"));
  EXPECT_EQ(models_of(server, alice), 401U);
  EXPECT_EQ(server.end(), 0);
}

TEST_F(KeyPrograms, a_file_of_keys_that_cannot_be_used_ends_the_program) {
  const auto start = [this] { return run(FORGE_INFER " --api-key-file " + path("keys")); };
  Outcome outcome = start();
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.output.find("--api-key-file: '" + path("keys") + "' cannot be read"),
            std::string::npos)
      << outcome.output;
  std::ofstream(path("keys")) << "# none yet\n";
  std::filesystem::permissions(path("keys"), std::filesystem::perms(0600));
  EXPECT_NE(start().output.find("there is no key"), std::string::npos);
  add_key("alice:client", false);
  std::filesystem::permissions(path("keys"), std::filesystem::perms(0644));
  outcome = start();
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.output.find("may be read or written by others"), std::string::npos);
}

TEST_F(KeyPrograms, a_key_without_an_owner_is_not_made) {
  const Outcome outcome = run(FORGE_INFER " --make-key alice");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.output.find("there is no ':CLASS' after the name; accepted is NAME:CLASS"),
            std::string::npos)
      << outcome.output;
}

TEST_F(KeyPrograms, what_others_can_reach_needs_a_word) {
  const Outcome open = run(FORGE_INFER " --addr 0.0.0.0:0");
  EXPECT_EQ(open.status, 1);
  EXPECT_NE(
      open.output.find("cannot listen on 0.0.0.0:0: others than this machine can reach it, and "
                       "anybody may ask (there is no --api-key-file), and keys and answers can be "
                       "read on their way (there is no --tls-cert); --insecure"),
      std::string::npos)
      << open.output;
  add_key("alice:client", false);
  const Outcome clear = run(FORGE_INFER " --addr 0.0.0.0:0 --api-key-file " + path("keys"));
  EXPECT_EQ(clear.status, 1);
  EXPECT_NE(clear.output.find("reach it, and keys and answers can be read on their way"),
            std::string::npos)
      << clear.output;
  ChildProcess server({FORGE_INFER, "--insecure", "--addr", "0.0.0.0:0"});
  ASSERT_TRUE(server.says("listening on http://0.0.0.0:")) << server.said();
  server.send(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
}

using ProfilePrograms = ProgramTest;

TEST_F(ProfilePrograms, a_server_says_at_its_end_where_the_time_went) {
  const std::string file = path("timeline.json");
  ServerProcess server({"--profile", file});
  ASSERT_TRUE(server.listens()) << server.said();
  EXPECT_FALSE(server.complete(8).empty());
  server.send(SIGTERM);
  const std::string said = server.read_all();
  EXPECT_EQ(server.wait(), 0);
  EXPECT_NE(said.find("profile of all passes: "), std::string::npos) << said;
  EXPECT_NE(said.find("\ngate_up "), std::string::npos) << said;
  const json timeline = json::parse(read_file(file));
  std::set<std::string> names;
  for (const json& event : timeline["traceEvents"]) names.insert(event["name"]);
  EXPECT_TRUE(names.contains("pass") && names.contains("qkv") && names.contains("head"));
}

TEST_F(ProfilePrograms, a_profile_that_cannot_be_written_or_measured_is_refused_at_the_start) {
  Outcome outcome = run(FORGE_INFER " --profile /nowhere/timeline.json");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.output.find("--profile: cannot write '/nowhere/timeline.json'"),
            std::string::npos)
      << outcome.output;
  outcome = run(FORGE_BENCH " --target sim --profile");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.output.find("--profile does not apply to --target sim"), std::string::npos)
      << outcome.output;
}

using ChatPrograms = ProgramTest;

TEST_F(ChatPrograms, a_template_of_ones_own_spells_the_conversation) {
  std::ofstream(path("own.jinja")) << "{{ messages[0].content }}";
  const ServerProcess server({"--chat-template", path("own.jinja")});
  const nlohmann::json body = {{"model", "forge-tiny"},
                               {"max_tokens", 4},
                               {"messages", {{{"role", "user"}, {"content", "Once upon"}}}}};
  const auto chat = test::HttpClient(server.port()).post("/v1/chat/completions", body).json();
  const auto plain =
      server.complete({{"model", "forge-tiny"}, {"prompt", "Once upon"}, {"max_tokens", 4}}).json();
  EXPECT_EQ(chat["choices"][0]["message"]["content"], plain["choices"][0]["text"]);
}

TEST_F(ChatPrograms, a_template_that_is_none_is_refused_by_name) {
  std::ofstream(path("broken.jinja")) << "a\n{{ 1 + }}";
  const Outcome broken = run(FORGE_INFER " --chat-template " + path("broken.jinja"));
  EXPECT_EQ(broken.status, 1);
  EXPECT_TRUE(has(broken, "forge-infer: --chat-template: ")) << broken.output;
  EXPECT_TRUE(has(broken, "broken.jinja: the chat template, line 2: ")) << broken.output;
  const Outcome missing = run(FORGE_INFER " --chat-template " + path("none.jinja"));
  EXPECT_EQ(missing.status, 1);
  EXPECT_TRUE(has(missing, "none.jinja")) << missing.output;
}

TEST(InferPrograms, numbers_that_are_none_are_refused_with_what_is_accepted) {
  for (const std::string flag : {"--header-timeout-s", "--read-timeout-s", "--idle-timeout-s",
                                 "--write-timeout-s", "--shutdown-timeout-s"}) {
    for (const std::string value : {"nan", "inf", "0", "-1", "86401", "soon"}) {
      const Outcome outcome = run(FORGE_INFER " " + flag + " " + value);
      EXPECT_EQ(outcome.status, 2) << flag << ' ' << value;
      EXPECT_NE(outcome.output.find(flag), std::string::npos) << outcome.output;
      EXPECT_NE(outcome.output.find("0.001 to 86400"), std::string::npos) << outcome.output;
    }
  }
  EXPECT_EQ(run(FORGE_INFER " --request-timeout-s nan").status, 2);
  EXPECT_EQ(run(FORGE_INFER " --max-connections 0").status, 2);
}

}  // namespace
}  // namespace forge::testing
