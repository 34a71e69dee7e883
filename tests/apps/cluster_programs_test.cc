// forge-bench workload and forge-bench cluster.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/programs.h"

namespace forge::testing {
namespace {

using ::testing::HasSubstr;

class ClusterPrograms : public ProgramTest {};

TEST_F(ClusterPrograms, a_workload_that_was_printed_is_the_one_that_is_generated) {
  ASSERT_EQ(
      run(FORGE_BENCH " workload --requests 60 --rate 5 --seed 3 > " + path("w.jsonl")).status, 0);
  const std::string flags = " --replicas 2 --json ";
  const Outcome read =
      run(FORGE_BENCH " cluster --workload " + path("w.jsonl") + flags + path("a.json"));
  ASSERT_EQ(read.status, 0) << read.output;
  const Outcome made =
      run(FORGE_BENCH " cluster --requests 60 --rate 5 --seed 3" + flags + path("b.json"));
  EXPECT_EQ(made.output, read.output);
  EXPECT_EQ(read_file(path("a.json")), read_file(path("b.json")));
  const auto results = nlohmann::json::parse(read_file(path("a.json")));
  ASSERT_EQ(results["runs"].size(), 4u);
  for (const auto& result : results["runs"]) {
    EXPECT_EQ(result["requests"], 60);
    EXPECT_EQ(result["tokens_run"].size(), 2u);
    EXPECT_THAT(read.output, HasSubstr(result["digest"].get<std::string>()));
  }
  const Outcome alone = run(FORGE_BENCH " --target null --workload " + path("w.jsonl"));
  EXPECT_THAT(alone.output, HasSubstr("60 finished, 0 refused"));
}

TEST_F(ClusterPrograms, what_cannot_be_run_is_named) {
  const auto expect_refused = [](const std::string& arguments, const std::string& part) {
    const Outcome outcome = run(FORGE_BENCH " " + arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_THAT(outcome.output, HasSubstr(part)) << arguments;
  };
  expect_refused("cluster --replicas 0", "--replicas: Value 0 not in range 1 to 64");
  expect_refused("cluster --rule fast", "--rule: fast not in {turn,load,prefix,both}");
  expect_refused("cluster --max-batch-size 64 --max-batch-tokens 8", "max_batch_tokens");
  expect_refused("cluster --workload gone.jsonl", "--workload: cannot read 'gone.jsonl'");
  expect_refused("cluster --workload gone.jsonl --rate 5", "--workload excludes --rate");
  expect_refused("cluster --workload gone.jsonl --seed 5", "--workload excludes --seed");
  expect_refused("cluster --requests 9 --json /nowhere/x", "--json: cannot write '/nowhere/x'");
  expect_refused("--num-blocks 9 cluster", "--num-blocks before cluster: its flags are behind it");
  expect_refused("workload --rate 0", "--rate");
  expect_refused("workload --kind poems", "--kind: poems not in {chat,documents}");
}

}  // namespace
}  // namespace forge::testing
