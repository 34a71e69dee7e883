// The log of requests of forge-infer.
#include <gmock/gmock.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "apps/programs.h"
#include "apps/server_process.h"

namespace forge::testing {
namespace {

using nlohmann::json;
using test::HttpClient;
using RequestLogPrograms = ProgramTest;

std::vector<json> records_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
  return lines;
}

TEST_F(RequestLogPrograms, has_a_line_for_each_request_and_is_added_to) {
  for (int round = 1; round <= 2; ++round) {
    ServerProcess server({"--request-log", path("log"), "--queue-limit", "8"});
    ASSERT_TRUE(server.listens()) << server.said();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(server.complete(ServerProcess::question(4)).status, 200U);
    EXPECT_EQ(HttpClient(server.port()).get("/health").status, 200U);
    EXPECT_EQ(server.end(), 0);
    const auto lines = records_of(read_file(path("log")));
    ASSERT_EQ(lines.size(), 3U * static_cast<unsigned>(round));
    EXPECT_EQ(lines.back()["completion_tokens"], 4);
    EXPECT_EQ(lines.back()["finish_reason"], "length");
  }
}

TEST_F(RequestLogPrograms, a_flood_of_refusals_is_a_line_a_second_and_a_count) {
  constexpr int kRefusals = 300;
  ServerProcess server({"--request-log", path("log"), "--target", "cpu"});
  ASSERT_TRUE(server.listens()) << server.said();
  HttpClient client(server.port());
  for (int i = 0; i < kRefusals; ++i) EXPECT_EQ(client.get("/nowhere").status, 404U);
  client.close();
  EXPECT_EQ(server.end(), 0);
  std::size_t told = 0;
  std::size_t left_out = 0;
  for (const json& line : records_of(read_file(path("log")))) {
    told += line.contains("status") ? 1 : 0;
    left_out += line.value("refusals_left_out", 0);
  }
  EXPECT_EQ(told + left_out, kRefusals);
  EXPECT_LT(told, kRefusals / 10);
}

TEST_F(RequestLogPrograms, goes_to_the_standard_error_too_and_nobody_waits_for_its_reader) {
  ServerProcess server({"--request-log", "-", "--target", "null"});
  ASSERT_TRUE(server.listens()) << server.said();
  json body = ServerProcess::question(4);
  body["model"] = "null";
  EXPECT_EQ(server.complete(body).status, 200U);
  EXPECT_TRUE(server.says("\"finish_reason\":\"length\"}\n"));
  HttpClient client(server.port());
  for (int i = 0; i < 1000; ++i) {  // more than a pipe holds
    ASSERT_EQ(client.post("/v1/completions", body).status, 200U) << i;
  }
  client.close();
  server.close_output();
  EXPECT_EQ(server.end(), 0);
}

TEST_F(RequestLogPrograms, a_file_that_cannot_be_written_ends_the_program) {
  const Outcome outcome = run(FORGE_INFER " --request-log " + path("no/such/folder"));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(has(outcome, "--request-log: cannot write '" + path("no/such/folder") + "'"))
      << outcome.output;
}

}  // namespace
}  // namespace forge::testing
