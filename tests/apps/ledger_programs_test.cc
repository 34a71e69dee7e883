// forge-bench --step-times and forge-bench ledger.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "apps/programs.h"

namespace forge::testing {
namespace {

using ::testing::HasSubstr;

class LedgerPrograms : public ProgramTest {
 protected:
  /// A recording of `requests` synthetic requests, called `name`, as one of that workload.
  void record_steps(const std::string& name, int requests, const std::string& workload) {
    const std::string file = path(name);
    const Outcome outcome = run(FORGE_BENCH " --mode continuous --requests " +
                                std::to_string(requests) + " --step-times " + file);
    ASSERT_EQ(outcome.status, 0) << outcome.output;
    std::string text = read_file(file);
    const std::string synthetic = "\"synthetic\"";
    text.replace(text.find(synthetic), synthetic.size(), "\"" + workload + "\"");
    std::ofstream(file) << text;
  }
};

TEST_F(LedgerPrograms, what_was_recorded_is_fitted_and_compared) {
  record_steps("poems-1", 6, "poems");
  record_steps("poems-2", 6, "poems");
  record_steps("plays-1", 4, "plays");
  const Outcome outcome =
      run(FORGE_BENCH " ledger --fit " + path("poems-1") + " " + path("poems-2") + " --against " +
          path("plays-1") + " --json " + path("ledger.json") + " --save-model " + path("model"));
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("fitted poems: continuous, 6 requests, batch of 16, 2 "));
  EXPECT_THAT(outcome.output, HasSubstr("held back plays: continuous, 4 requests, batch of 16"));
  EXPECT_THAT(outcome.output, HasSubstr("held back, at p50: "));
  const auto ledger = nlohmann::json::parse(read_file(path("ledger.json")));
  EXPECT_EQ(ledger["runs"].size(), 2u);
  const auto model = nlohmann::json::parse(read_file(path("model")));
  EXPECT_EQ(model["target"], "cpu");
  EXPECT_EQ(model["us"], ledger["model"]["us"]);
}

TEST_F(LedgerPrograms, a_recording_bears_the_name_of_its_workload) {
  ASSERT_EQ(run(FORGE_BENCH " workload --requests 3 > " + path("w.jsonl")).status, 0);
  ASSERT_EQ(run(FORGE_BENCH " --target sim --model forge-tiny:layers=1 --mode continuous "
                            "--requests 1 --workload " +
                path("w.jsonl") + " --step-times " + path("t"))
                .status,
            0);
  EXPECT_THAT(read_file(path("t")), HasSubstr("\"workload\":\"w.jsonl\",\"requests\":1"));
  EXPECT_THAT(read_file(path("t")), HasSubstr("\"policy_us\":0.0"));
}

TEST_F(LedgerPrograms, what_is_no_recording_is_refused) {
  const auto expect_refused = [](const std::string& arguments, const std::string& part) {
    const Outcome outcome = run(FORGE_BENCH " " + arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_THAT(outcome.output, HasSubstr(part)) << arguments;
  };
  record_steps("poems", 2, "poems");
  const std::string poems = path("poems");
  std::ofstream(path("prose")) << "It was a dark and stormy night.\n";
  expect_refused("ledger --against " + poems, "ledger needs --fit FILE");
  expect_refused("ledger --fit " + poems, "ledger needs --against FILE");
  expect_refused("ledger --fit gone --against " + poems, "--fit: cannot read 'gone'");
  expect_refused("ledger --fit " + poems + " --against gone", "--against: cannot read 'gone'");
  expect_refused("ledger --fit " + path("prose") + " --against " + poems,
                 "prose: no recording of step times: line 1: ");
  expect_refused("ledger --fit " + poems + " --against " + poems,
                 "poems: workload is 'poems', that of");
  expect_refused("--requests 1 --mode continuous --step-times /nowhere/x",
                 "--step-times: cannot write '/nowhere/x'");
  expect_refused("--target null --step-times x", "--step-times does not apply to --target null");
  expect_refused("--mode sequential --mode speculative --step-times x",
                 "--step-times records one run: the continuous one or a single --mode");
}

}  // namespace
}  // namespace forge::testing
