// forge-bench --target null against scripts/prefix_ceiling, which shares no code with it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Outcome {
  int status = 0;
  std::string output;  ///< stdout and stderr
};

Outcome run(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> buffer;
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    outcome.output.append(buffer.data(), n);
  }
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 255;
  return outcome;
}

class PolicyPrograms : public ::testing::Test {
 protected:
  void SetUp() override {
    if (run("python3 --version").status != 0) GTEST_SKIP() << "needs python3";
    std::string pattern = (fs::temp_directory_path() / "forge-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// What forge-bench --target null writes as JSON.
  json bench(const std::string& flags) const {
    const Outcome outcome =
        run(FORGE_BENCH " --target null --json " + path("bench.json") + " " + flags);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    std::ifstream in(path("bench.json"));
    return json::parse(in, nullptr, false);
  }

  static json ceiling(const std::string& arguments) {
    const Outcome outcome = run(FORGE_PREFIX_CEILING " --json " + arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    return json::parse(outcome.output, nullptr, false);
  }

  fs::path folder_;
};

TEST_F(PolicyPrograms, the_ceiling_is_the_longest_common_prefix_but_never_the_whole_prompt) {
  std::ofstream(path("w.jsonl"))
      << R"({"timestamp": 0, "input_length": 1100, "output_length": 1, "hash_ids": [1, 2, 3]})"
         "\n"  // nothing is cached
      << R"({"timestamp": 5, "input_length": 1024, "output_length": 1, "hash_ids": [1, 2]})"
         "\n"  // all of it is: 1023
      << R"({"timestamp": 9, "input_length": 1300, "output_length": 1, "hash_ids": [1, 2, 3]})"
         "\n"  // 1100
      << R"({"timestamp": 9, "input_length": 1200, "output_length": 1, "hash_ids": [4, 2, 3]})"
         "\n"  // 0: its first block is new
      << R"({"timestamp": 7, "input_length": 600, "output_length": 1, "hash_ids": [1, 9]})"
         "\n";  // 512
  EXPECT_EQ(ceiling(path("w.jsonl")), (json{{"query_tokens", 5224}, {"hit_tokens", 2635}}));
  EXPECT_EQ(ceiling("--block-size 512 " + path("w.jsonl"))["hit_tokens"], 1023 + 1024 + 512);
  const json result = bench("--workload " + path("w.jsonl") +
                            " --block-size 4 --max-batch-size 1 --step-us 0 --token-us 0");
  EXPECT_EQ(result["prefix_cache"]["query_tokens"], 5224);
  EXPECT_EQ(result["prefix_cache"]["hit_tokens"], 2635);
}

TEST_F(PolicyPrograms, an_unlimited_cache_reaches_the_ceiling_of_production_traffic) {
  if (!fs::exists(FORGE_MOONCAKE_TRACE)) GTEST_SKIP() << "needs " FORGE_MOONCAKE_TRACE;
  const json best = ceiling("--block-size 512 " FORGE_MOONCAKE_TRACE);
  const std::string flags =
      "--workload " FORGE_MOONCAKE_TRACE " --block-size 512 --num-blocks 220000";
  // One request at a time: each finds all that came before it.
  for (const char* index : {"radix", "hash"}) {
    const json alone =
        bench(flags + " --max-batch-size 1 --step-us 0 --token-us 0 --prefix-cache " + index);
    EXPECT_EQ(alone["requests"], 12031);
    EXPECT_EQ(alone["prefix_cache"]["query_tokens"], best["query_tokens"]);
    EXPECT_EQ(alone["prefix_cache"]["hit_tokens"], best["hit_tokens"]) << index;
  }
  // Many at a time: who is admitted beside the first request with a prefix does not find it yet.
  const json together = bench(flags + " --max-batch-size 256");
  const double found = together["prefix_cache"]["hit_tokens"];
  const double cached_at_best = best["hit_tokens"];
  EXPECT_LE(found, cached_at_best);
  EXPECT_GT(found, 0.999 * cached_at_best);
}

TEST_F(PolicyPrograms, flags_of_a_model_are_refused_with_the_null_target) {
  for (const std::string flag : {"--mode continuous", "--model-layers 2", "--draft-layers 1"}) {
    const Outcome outcome = run(FORGE_BENCH " --target null " + flag);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_NE(outcome.output.find("does not apply to --target null"), std::string::npos)
        << outcome.output;
  }
}

}  // namespace
