// scripts/gpu-check, with programs that only pretend: what it refuses, what it writes, and that it
// notices whatever goes wrong.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "apps/programs.h"

namespace forge::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

/// A folder as --pack makes it, of shell scripts, on a machine whose GPU is one too.
class GpuCheck : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    program("tools/nvidia-smi",
            "case $* in *driver_version*) echo 580.65 ;; *) echo 'NVIDIA H200' ;; esac");
    program("tools/compute-sanitizer", "echo no errors");
    program("pack/bin/one_test", in_shard_0("echo '[  PASSED  ] 3 tests.'"));
    program("pack/bin/gpu_kernels_test", in_shard_0("echo '[  PASSED  ] 1 test.'"));
    program("pack/bin/forge-trace", "echo \"$2 replayed on $4, graphs $6, all equal\"");
    program("pack/bin/forge-cuda-bench",
            "while [ $# -gt 1 ]; do [ $1 != --json ] || echo '{\"steps\": []}' > $2; shift; done");
    file("pack/traces/a.jsonl", "");
    file("pack/traces/b.jsonl", "");
    file("pack/commit", "abc123\n");
  }

  void file(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name)) << text;
  }
  void program(const std::string& name, const std::string& body) {
    file(name, "#!/bin/sh\n" + body + "\n");
    std::filesystem::permissions(path(name), std::filesystem::perms::owner_all);
  }

  /// What a test program says of the first of its parts, of which the others have no tests.
  static std::string in_shard_0(const std::string& body) {
    return "[ $GTEST_SHARD_INDEX = 0 ] || "
           "{ echo '[  PASSED  ] 0 tests.'; exit; }; " +
           body;
  }
  static Outcome check(const std::string& arguments) {
    return run(FORGE_GPU_CHECK " " + arguments);
  }
  /// A run of the folder.
  Outcome run_pack() {
    return run("PATH=" + path("tools") + ":$PATH " FORGE_GPU_CHECK " --run " + path("pack") +
               " --out " + path("result.json"));
  }
  Json result() { return Json::parse(read_file(path("result.json"))); }
};

void expect_refusal(const Outcome& outcome, const std::string& message) {
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("gpu-check: " + message));
}

TEST_F(GpuCheck, refuses_arguments_that_it_does_not_know_or_that_contradict_each_other) {
  expect_refusal(check("--speed 11"), "unknown argument '--speed'; usage: scripts/gpu-check [");
  expect_refusal(check("--run"), "--run needs a value");
  expect_refusal(check("--run a --pack b"), "--pack or --run, not both");
  expect_refusal(check("--pack a --out b"), "--out is for a run");
}

TEST_F(GpuCheck, refuses_a_folder_that_it_has_not_packed) {
  expect_refusal(check("--run " + path("tools")), "'" + path("tools") + "' is no folder that");
  expect_refusal(check("--pack " + path("tools")), "'" + path("tools") + "' is not empty");
}

TEST_F(GpuCheck, says_what_nvidia_smi_says_where_there_is_no_gpu) {
  program("tools/nvidia-smi", "echo 'No devices were found'; exit 6");
  expect_refusal(run_pack(), "no GPU here: nvidia-smi says: No devices were found");
}

TEST_F(GpuCheck, writes_one_result_of_everything) {
  const Outcome outcome = run_pack();
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  const Json json = result();
  EXPECT_EQ(json["device"], "NVIDIA H200");
  EXPECT_EQ(json["driver"], "580.65");
  EXPECT_EQ(json["commit"], "abc123");
  EXPECT_THAT(json["failures"], IsEmpty());
  EXPECT_EQ(json["tests_passed"], 4);
  EXPECT_EQ(json["tests"], Json::parse(R"({"gpu_kernels_test": 1, "one_test": 3})"));
  ASSERT_EQ(json["replays"].size(), 4u);
  EXPECT_EQ(json["replays"][3], Json::parse(R"({
    "trace": "b", "graphs": "off", "equal": true,
    "said": "traces/b.jsonl replayed on cuda, graphs off, all equal"})"));
  EXPECT_EQ(json["memcheck"], "no errors");
  EXPECT_EQ(json["bench"], Json::parse(R"({"steps": []})"));
}

TEST_F(GpuCheck, replays_a_trace_with_the_model_that_lies_beside_it) {
  program("pack/bin/forge-trace", "echo \"$*\"");
  file("pack/traces/b.gguf", "");
  EXPECT_EQ(run_pack().status, 0);
  const Json replays = result()["replays"];
  EXPECT_EQ(replays[0]["said"], "replay traces/a.jsonl --target cuda --graphs on");
  EXPECT_EQ(replays[3]["said"],
            "replay traces/b.jsonl --target cuda --graphs off --model traces/b.gguf");
}

TEST_F(GpuCheck, a_packed_copy_runs_itself_and_leaves_the_result_where_it_was_started) {
  std::filesystem::copy(FORGE_GPU_CHECK, path("pack/gpu-check"));
  const Outcome outcome =
      run("cd " + path("tools") + " && PATH=" + path("tools") + ":$PATH ../pack/gpu-check");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("=== wrote " + path("tools") + "/h200-2"));
}

TEST_F(GpuCheck, unpacks_its_programs) {
  run("cd " + path("pack") + " && tar -cJf programs.tar.xz bin && rm -r bin");
  EXPECT_EQ(run_pack().status, 0);
  EXPECT_EQ(result()["tests_passed"], 4);
}

TEST_F(GpuCheck, refuses_programs_that_do_not_unpack) {
  file("pack/programs.tar.xz", "half of it");
  expect_refusal(run_pack(), "the programs of '" + path("pack") + "' do not unpack");
}

TEST_F(GpuCheck, names_every_check_that_failed) {
  program("pack/bin/one_test", "echo '[  FAILED  ] 1 test'; exit 1");
  program("pack/bin/forge-trace", "printf '%s\\n' 'differs: \"a\", \\d'; exit 1");
  program("pack/bin/forge-cuda-bench", "exit 2");
  program("tools/compute-sanitizer", "case $* in *racecheck*) exit 9 ;; esac");
  EXPECT_EQ(run_pack().status, 1);
  const Json json = result();
  EXPECT_THAT(
      json["failures"].get<std::vector<std::string>>(),
      ElementsAre("one_test", "replay of a, graphs on", "replay of a, graphs off",
                  "replay of b, graphs on", "replay of b, graphs off", "benchmarks", "racecheck"));
  EXPECT_EQ(json["replays"][0]["equal"], false);
  EXPECT_EQ(json["replays"][0]["said"], "differs: \"a\", \\d");
  EXPECT_EQ(json["memcheck"], "no errors");
  EXPECT_EQ(json["racecheck"], "exit status 9. ");
  EXPECT_TRUE(json["bench"].is_null());
}

TEST_F(GpuCheck, keeps_what_benchmarks_had_measured_before_they_failed) {
  program("pack/bin/forge-cuda-bench",
          "while [ $# -gt 1 ]; do [ $1 != --json ] || echo '{\"steps\": []}' > $2; shift; done; "
          "exit 134");
  EXPECT_EQ(run_pack().status, 1);
  EXPECT_THAT(result()["failures"].get<std::vector<std::string>>(), ElementsAre("benchmarks"));
  EXPECT_EQ(result()["bench"], Json::parse(R"({"steps": []})"));
}

TEST_F(GpuCheck, has_written_its_result_before_the_sanitizers_start) {
  program("tools/compute-sanitizer", "case $* in *memcheck*) cp " + path("result.json") + " " +
                                         path("early.json") + " ;; esac");
  EXPECT_EQ(run_pack().status, 0);
  const Json early = Json::parse(read_file(path("early.json")));
  EXPECT_EQ(early["memcheck"], "not finished");
  EXPECT_EQ(early["bench"], result()["bench"]);
}

TEST_F(GpuCheck, counts_the_tests_of_all_parts_of_a_program) {
  program("pack/bin/one_test", "echo '[  PASSED  ] 2 tests.'");
  program("tools/nproc", "echo 5");
  const Outcome outcome = run_pack();
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(result()["tests"]["one_test"], 10);
}

TEST_F(GpuCheck, notices_a_failure_in_one_part_of_a_program) {
  program("pack/bin/one_test", "[ $GTEST_SHARD_INDEX = 0 ] || exit 1");
  program("tools/nproc", "echo 3");
  EXPECT_EQ(run_pack().status, 1);
  EXPECT_THAT(result()["failures"].get<std::vector<std::string>>(), ElementsAre("one_test"));
}

TEST_F(GpuCheck, does_not_take_a_skipped_test_for_a_good_one) {
  program("pack/bin/one_test", "echo '[  PASSED  ] 0 tests.'; echo '[  SKIPPED ] 3 tests.'");
  EXPECT_EQ(run_pack().status, 1);
  EXPECT_THAT(result()["failures"].get<std::vector<std::string>>(), ElementsAre("one_test"));
}

}  // namespace
}  // namespace forge::testing
