// scripts/prove, with programs that only pretend: what it refuses, that it goes on where it was
// stopped and begins anew with other sources, and that it names whatever fails.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/programs.h"

namespace forge::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

/// What a test program prints at its end.
constexpr const char* kGood =
    "echo '[  CASES   ] 30'; echo '[==========] 3 tests from 1 test suite ran. (9 ms total)'";

/// A tree of sources in which building does nothing, and whose git is a script.
class Prove : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    std::filesystem::create_directories(path("tree/scripts"));
    std::filesystem::create_directories(path("tree/bench/results"));
    std::filesystem::copy(FORGE_PROVE, path("tree/scripts/prove"));
    program("tree/scripts/build", "echo \"$@\" >> " + path("built"));
    for (const char* const build : {"release", "clang"}) {
      for (const char* const name : {"gpu_planted_test", "gpu_kernels_test", "gpu_fast_test"}) {
        test_program(std::string(build) + "/bin/" + name, kGood);
      }
    }
    set_commit("abc123");
  }

  void program(const std::string& name, const std::string& body) {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name)) << "#!/bin/sh\n" + body + "\n";
    std::filesystem::permissions(path(name), std::filesystem::perms::owner_all);
  }
  /// Notes that it was run, by its seed and its tests.
  void test_program(const std::string& name, const std::string& body) {
    program("tree/build/" + name,
            "echo \"" + name + " $FORGE_SEED $1\" >> " + path("ran") + "\n" + body);
  }
  void set_commit(const std::string& commit) {
    program("tools/git", "[ $1 != rev-parse ] || echo " + commit);
  }

  Outcome prove(const std::string& arguments) {
    std::filesystem::remove(path("ran"));
    return run("PATH=" + path("tools") + ":$PATH " + path("tree/scripts/prove") + " " + arguments);
  }
  std::size_t pieces_run() const {
    const std::string ran = read_file(path("ran"));
    return static_cast<std::size_t>(std::ranges::count(ran, '\n'));
  }
  Json result(const std::string& subject = "gpu") {
    return Json::parse(read_file(path("tree/bench/results/prove-" + subject + ".json")));
  }
};

TEST_F(Prove, refuses_other_subjects_and_arguments) {
  for (const char* const arguments : {"", "gpu fast"}) {
    const Outcome outcome = prove(arguments);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.output,
                HasSubstr("usage: scripts/prove SUBJECT, with a subject of: gpu serve"));
  }
  const Outcome outcome = prove("cpu");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("prove: unknown subject 'cpu'; usage: scripts/prove"));
}

TEST_F(Prove, runs_each_piece_and_writes_one_result) {
  const Outcome outcome = prove("gpu");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  const Json json = result();
  const std::size_t pieces = json["pieces"].size();
  EXPECT_EQ(pieces, pieces_run());
  EXPECT_EQ(json["commit"], "abc123");
  EXPECT_EQ(json["seeds"], Json::parse("[1, 2, 3, 4, 5, 6, 7, 8]"));
  EXPECT_THAT(json["failures"], IsEmpty());
  EXPECT_EQ(json["tests"], 3 * pieces);
  EXPECT_EQ(json["cases"], 30 * pieces);
  EXPECT_EQ(json["pieces"][0]["name"], "omissions-release-1");
  EXPECT_EQ(json["pieces"][0]["cases"], 30);
  const std::string ran = read_file(path("ran"));
  EXPECT_THAT(ran, HasSubstr("clang/bin/gpu_kernels_test 8 --gtest_filter=*/sim\n"));
  EXPECT_THAT(ran, HasSubstr("release/bin/gpu_fast_test 1 --gtest_filter=*FastAxes*_by_swapped\n"));
  EXPECT_EQ(read_file(path("built")),
            "release gpu_planted_test gpu_kernels_test gpu_fast_test\n"
            "clang gpu_planted_test gpu_kernels_test\n");
}

TEST_F(Prove, names_pieces_that_fail_and_goes_on) {
  test_program("clang/bin/gpu_planted_test",
               std::string(kGood) + "; echo ' 2 FAILED TESTS'; exit 1");
  // Finds no tests, and dies.
  test_program(
      "release/bin/gpu_fast_test",
      "case $1 in *swapped) ;; *_by_graphs) kill -9 $$ ;; *) " + std::string(kGood) + " ;; esac");
  const Outcome outcome = prove("gpu");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("failed: axes-swapped\nfailed: axes-graphs\n"));
  const Json json = result();
  EXPECT_EQ(json["failures"].size(), 10U);
  EXPECT_EQ(json["failures"][2], "omissions-clang-1");
  EXPECT_EQ(json["pieces"].size(), pieces_run());
  EXPECT_EQ(json["pieces"].back()["failures"], 0) << "the last piece ran, too";
}

TEST_F(Prove, counts_what_a_script_says_in_its_last_line) {
  for (const char* const name : {"http_connections_test", "serve_test", "kv_events_test",
                                 "core_test", "metrics_test", "programs_test"}) {
    test_program(std::string("release/bin/") + name, kGood);
  }
  program("tree/scripts/clients", "echo '40 passed, 2 failed in 3 s'; exit 1");
  EXPECT_EQ(prove("serve").status, 1);
  EXPECT_EQ(result("serve")["failures"], Json::parse(R"(["clients"])"));
  EXPECT_EQ(result("serve")["pieces"].back()["tests"], 42);
  EXPECT_EQ(result("serve")["pieces"].back()["failures"], 2);
  EXPECT_THAT(read_file(path("built")), ::testing::EndsWith(" forge-infer forge-model\n"));
  program("tree/scripts/clients", "echo '42 passed, 0 failed in 3 s'");
  EXPECT_EQ(prove("serve").status, 0);
  EXPECT_EQ(result("serve")["pieces"].back()["tests"], 42);
}

TEST_F(Prove, goes_on_with_what_is_missing_or_failed) {
  test_program("clang/bin/gpu_kernels_test", "exit 1");
  EXPECT_EQ(prove("gpu").status, 1);
  const std::size_t all = result()["pieces"].size();
  test_program("clang/bin/gpu_kernels_test", kGood);
  const Outcome outcome = prove("gpu");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(pieces_run(), 8U);
  EXPECT_EQ(result()["pieces"].size(), all);
  EXPECT_THAT(read_file(path("built")), ::testing::EndsWith("clang gpu_kernels_test\n"));
}

TEST_F(Prove, begins_anew_with_other_sources_and_says_so) {
  EXPECT_EQ(prove("gpu").status, 0);
  EXPECT_EQ(prove("gpu").status, 0);
  EXPECT_EQ(pieces_run(), 0U);
  set_commit("def456");
  const Outcome outcome = prove("gpu");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("what there is was made of abc123; all begins anew"));
  EXPECT_EQ(pieces_run(), result()["pieces"].size());
  EXPECT_EQ(result()["commit"], "def456");
}

TEST_F(Prove, takes_changes_for_other_sources) {
  EXPECT_EQ(prove("gpu").status, 0);
  program("tools/git", "[ $1 != rev-parse ] || echo abc123; [ $1 != diff ] || echo changes");
  EXPECT_THAT(prove("gpu").output, HasSubstr("all begins anew"));
  EXPECT_EQ(result()["commit"], "abc123-modified");
}

TEST_F(Prove, refuses_programs_that_do_not_build) {
  program("tree/scripts/build", "exit 1");
  const Outcome outcome = prove("gpu");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("prove: the programs do not build: see build/prove/gpu/"));
}

}  // namespace
}  // namespace forge::testing
