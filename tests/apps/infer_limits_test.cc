// The limits of clients, as the command line and the file of keys say them.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/programs.h"
#include "apps/server_process.h"

namespace forge::testing {
namespace {

using nlohmann::json;
using test::HttpClient;

class LimitPrograms : public ProgramTest {
 protected:
  /// The file of keys has one, "password", with these settings.
  void write_keys(const std::string& settings) {
    std::ofstream(path("keys"))
        << "# who\nalice:client:5e884898da28047151d0e56f8dc6292773603d0d6aab"
           "bdd62a11ef721d1542d8"
        << settings << '\n';
    std::filesystem::permissions(path("keys"), std::filesystem::perms(0600));
  }
  static unsigned status_of(const ServerProcess& server, const json& body) {
    HttpClient client(server.port());
    client.send(HttpClient::text("POST", "/v1/completions", body.dump(),
                                 {{"Authorization", "Bearer password"}}));
    return client.read().status;
  }
  static json with(const char* field, const json& value) {
    json body = ServerProcess::question(3);
    body[field] = value;
    return body;
  }
};

TEST_F(LimitPrograms, a_setting_of_a_key_that_is_not_accepted_is_named_with_its_line) {
  write_keys(":weight=0");
  const Outcome outcome = run(FORGE_INFER " --api-key-file " + path("keys"));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(has(outcome, "line 2: weight is '0'; accepted is an integer, 1 .. 1000"))
      << outcome.output;
}

TEST_F(LimitPrograms, settings_of_keys_are_read_again_on_a_hangup) {
  write_keys("");
  ServerProcess server({"--api-key-file", path("keys")});
  EXPECT_EQ(status_of(server, with("priority", "high")), 200U);
  write_keys(":priority=low,concurrent=1");
  server.send(SIGHUP);
  ASSERT_TRUE(server.says("--api-key-file: 1 keys\n")) << server.said();
  EXPECT_EQ(status_of(server, with("priority", "high")), 403U);
  EXPECT_EQ(status_of(server, with("n", 2)), 400U);
  write_keys(":priority=urgent");
  server.send(SIGHUP);
  ASSERT_TRUE(server.says("priority is 'urgent'; accepted is low, normal or high"))
      << server.said();
  EXPECT_EQ(status_of(server, with("priority", "high")), 403U) << "as before";
  EXPECT_EQ(server.end(), 0);
}

TEST_F(LimitPrograms, flags_are_the_limits_of_everybody) {
  ServerProcess server({"--client-concurrent", "2", "--client-waiting", "2",
                        "--client-tokens-per-minute", "1000", "--max-priority", "low"});
  ASSERT_TRUE(server.listens()) << server.said();
  EXPECT_EQ(server.complete(with("n", 3)).status, 400U);
  EXPECT_EQ(server.complete(with("max_tokens", 1000)).status, 400U);
  EXPECT_EQ(server.complete(with("priority", "normal")).status, 403U);
  const auto answer = server.complete(ServerProcess::question(3));
  EXPECT_EQ(answer.status, 200U);
  EXPECT_EQ(answer.header("x-ratelimit-limit-requests"), "2");
  EXPECT_EQ(answer.header("x-ratelimit-limit-tokens"), "1000");
  EXPECT_EQ(server.end(), 0);
}

TEST_F(LimitPrograms, flags_out_of_range_are_refused) {
  const std::pair<const char*, const char*> bad[] = {{"--client-concurrent", "1000001"},
                                                     {"--client-waiting", "-1"},
                                                     {"--client-tokens-per-minute", "1000000001"},
                                                     {"--max-priority", "urgent"}};
  for (const auto& [flag, value] : bad) {
    const Outcome outcome = run(FORGE_INFER " " + std::string(flag) + " " + value);
    EXPECT_EQ(outcome.status, 2) << flag;
    EXPECT_TRUE(has(outcome, flag)) << outcome.output;
  }
}

}  // namespace
}  // namespace forge::testing
