// forge-infer whose target goes wrong, and without a model.
#include <gmock/gmock.h>

#include <csignal>
#include <string>
#include <thread>

#include "apps/programs.h"
#include "apps/server_process.h"

namespace forge::testing {
namespace {

using nlohmann::json;
using test::HttpClient;
using ::testing::HasSubstr;

TEST(FaultPrograms, a_target_that_hangs_is_stalled_and_left_behind) {
  for (const char* target : {"cpu", "null"}) {
    ServerProcess server({"--target", target, "--fault", "hangs@2", "--health-stall-s", "0.02",
                          "--shutdown-timeout-s", "0.01"});
    ASSERT_TRUE(server.listens()) << server.said();
    json body = ServerProcess::question(10);
    if (target == std::string("null")) body["model"] = "null";
    HttpClient client(server.port());
    client.send(HttpClient::text("/v1/completions", body));
    // A machine that is busy may take so long for a step that does not hang, too.
    const auto hangs = [&server] {
      const json health = server.health().json();
      return health["steps"] == 2 && health["status"] == "stalled";
    };
    while (!hangs()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(HttpClient(server.port()).get("/health/live").status, 503U);
    server.send(SIGTERM);
    EXPECT_EQ(server.wait(), 1);
    EXPECT_THAT(server.read_all(), HasSubstr("the target does not end its step"));
  }
}

TEST(FaultPrograms, a_target_that_is_lost_ends_the_program_with_a_status_of_its_own) {
  ServerProcess server(std::vector<std::string>{"--fault", "lost@2"});
  ASSERT_TRUE(server.listens()) << server.said();
  const auto response = server.complete(ServerProcess::question(10));
  EXPECT_EQ(response.status, 500U);
  EXPECT_THAT(response.body, HasSubstr("step 2 fails, as it was told"));
  EXPECT_EQ(server.wait(), 3);
  EXPECT_THAT(server.read_all(),
              HasSubstr("forge-infer: the target is lost: step 2 fails, as it was told\n"));
}

TEST(FaultPrograms, a_target_that_is_opened_again_gives_the_tokens_that_it_would_have_given) {
  for (const char* target : {"cpu", "sim"}) {
    std::string undisturbed;
    for (const bool is_lost : {false, true}) {
      std::vector<std::string> flags{"--target", target, "--on-target-lost", "reopen"};
      if (is_lost) flags.insert(flags.end(), {"--fault", "lost@2", "--fault", "lost@4"});
      ServerProcess server(flags);
      ASSERT_TRUE(server.listens()) << server.said();
      const auto response = server.complete(ServerProcess::question(10));
      ASSERT_EQ(response.status, 200U) << response.body;
      const std::string text = response.json()["choices"][0]["text"];
      if (!is_lost) undisturbed = text;
      EXPECT_EQ(text, undisturbed) << target;
      EXPECT_EQ(server.end(), 0);
      const auto said = server.read_all();
      EXPECT_EQ(said.find("opened again") != std::string::npos, is_lost) << said;
    }
  }
}

TEST(FaultPrograms, a_step_that_fails_costs_its_requests_alone) {
  ServerProcess server({"--fault", "fails@2", "--fault", "late@9:1"});
  ASSERT_TRUE(server.listens()) << server.said();
  EXPECT_EQ(server.complete(ServerProcess::question(10)).status, 500U);
  EXPECT_EQ(server.complete(ServerProcess::question(10)).status, 200U);
  EXPECT_EQ(server.end(), 0);
}

TEST(NullPrograms, serve_letters_without_a_model) {
  ServerProcess server(std::vector<std::string>{"--target", "null"});
  ASSERT_TRUE(server.listens()) << server.said();
  json body = ServerProcess::question(20);
  body["model"] = "null";
  EXPECT_THAT(server.complete(body).json()["choices"][0]["text"].get<std::string>(),
              ::testing::MatchesRegex("[a-z]{20}"));
  body["stream"] = true;
  HttpClient client(server.port());
  client.send(HttpClient::text("/v1/completions", body));
  client.read_header();
  EXPECT_EQ(client.read_events().size(), 21U) << "one a token, and the end";
  client.close();
  EXPECT_EQ(server.end(), 0);
}

using NullTraces = ProgramTest;

TEST_F(NullTraces, say_that_no_model_ran_and_are_decided_again) {
  ServerProcess server({"--target", "null", "--trace", path("trace")});
  ASSERT_TRUE(server.listens()) << server.said();
  json body = ServerProcess::question(20);
  body["model"] = "null";
  EXPECT_EQ(server.complete(body).status, 200U);
  EXPECT_EQ(server.end(), 0);
  EXPECT_THAT(read_file(path("trace")), HasSubstr(R"("target":{"drafts":0,"kind":"null"})"));
  const Outcome replayed = run(FORGE_TRACE " replay " + path("trace"));
  EXPECT_EQ(replayed.status, 0) << replayed.output;
}

}  // namespace
}  // namespace forge::testing
