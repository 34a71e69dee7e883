// forge-infer as a process: who follows its cache, as far as flags, words and metrics tell. What
// followers get is in tests/serve/kv_events_test.py.
#include <nlohmann/json.hpp>
#include <string>

#include "apps/programs.h"
#include "apps/server_process.h"

namespace forge::testing {
namespace {

TEST(InferEvents, flags_that_do_not_fit_are_refused_with_what_is_accepted) {
  struct Case {
    const char* flags;
    const char* why;
  };
  for (const auto& [flags, why] : {
           Case{"--kv-events-replay tcp://127.0.0.1:*", "--kv-events-replay needs --kv-events"},
           Case{"--kv-events-topic kv", "--kv-events-topic needs --kv-events"},
           Case{"--kv-events-format map", "--kv-events-format needs --kv-events"},
           Case{"--kv-events-public", "--kv-events-public needs --kv-events"},
           Case{"--kv-events ''", "--kv-events: '' is no endpoint"},
           Case{"--kv-events 5557", "--kv-events: '5557' is no endpoint"},
           Case{"--kv-events 'tcp://*:5557'", "'tcp://*:5557', can be reached by others"},
           Case{"--kv-events ipc://e --kv-events-replay 'tcp://*:1'", "--kv-events-public does"},
           Case{"--kv-events ipc://e --kv-events-topic kv@pod", "the topic 'kv@pod' has 1 '@'"},
           Case{"--kv-events ipc://e --kv-events-format json", "--kv-events-format"},
           Case{"--kv-events ipc://e --prefix-cache none", "--kv-events needs a prefix cache"},
       }) {
    const Outcome outcome = run(std::string(FORGE_INFER " ") + flags);
    EXPECT_EQ(outcome.status, 2) << flags;
    EXPECT_NE(outcome.output.find(why), std::string::npos) << flags << ": " << outcome.output;
  }
}

TEST(InferEvents, a_place_that_cannot_be_bound_ends_the_start) {
  const Outcome outcome = run(FORGE_INFER " --kv-events ipc:///nowhere/at/all");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.output.find("forge-infer: --kv-events: cannot bind 'ipc:///nowhere/at/all': "),
            std::string::npos)
      << outcome.output;
}

using EventPrograms = ProgramTest;

TEST_F(EventPrograms, the_start_says_that_prompts_leave_and_metrics_how_many_batches_have) {
  const std::string endpoint = "ipc://" + path("events");
  ServerProcess server({"--kv-events", endpoint, "--metrics-open"});
  ASSERT_TRUE(server.listens()) << server.said();
  const std::string words = "token ids of prompts and answers leave this process, to " + endpoint;
  EXPECT_NE(server.said().find(words), std::string::npos) << server.said();
  server.complete(64);
  const std::string metrics = test::HttpClient(server.port()).get("/metrics").body;
  EXPECT_NE(metrics.find("\nforge:kv_events_published_total{"), std::string::npos) << metrics;
  EXPECT_NE(
      metrics.find("\nforge:kv_events_dropped_total{model_name=\"forge-tiny\",engine=\"0\"} 0"),
      std::string::npos)
      << metrics;
  EXPECT_EQ(server.end(), 0);
}

TEST(InferEvents, without_the_flag_nothing_is_said_of_it) {
  ServerProcess server(std::vector<std::string>{"--metrics-open"});
  ASSERT_TRUE(server.listens()) << server.said();
  EXPECT_EQ(server.said().find("token ids"), std::string::npos) << server.said();
  const std::string metrics = test::HttpClient(server.port()).get("/metrics").body;
  EXPECT_EQ(metrics.find("kv_events"), std::string::npos) << metrics;
  EXPECT_EQ(server.end(), 0);
}

}  // namespace
}  // namespace forge::testing
