// The policy under load: forge-bench --target null against scripts/prefix_ceiling, which shares no
// code with it, and runs with everything in them recorded and replayed.
#include <nlohmann/json.hpp>

#include "apps/programs.h"

namespace forge::testing {
namespace {

using nlohmann::json;

class PolicyPrograms : public ProgramTest {
 protected:
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

  /// Records a run of forge-bench with `flags`, replays it and expects the digest that forge-bench
  /// writes behind `label`.
  void replay_and_compare(const std::string& flags, const std::string& label) const {
    std::filesystem::remove(path("t.jsonl"));
    const Outcome recorded = run(FORGE_BENCH " --trace " + path("t.jsonl") + " " + flags);
    EXPECT_EQ(recorded.status, 0) << recorded.output;
    const Outcome replay = run(FORGE_TRACE " replay " + path("t.jsonl"));
    EXPECT_EQ(replay.status, 0) << replay.output;
    EXPECT_NE(digest_after(recorded.output, label), "none") << recorded.output;
    EXPECT_EQ(digest_after(replay.output, "all equal"), digest_after(recorded.output, label));
  }
};

bool has_python() { return run("python3 --version").status == 0; }

TEST_F(PolicyPrograms, the_ceiling_is_the_longest_common_prefix_but_never_the_whole_prompt) {
  if (!has_python()) GTEST_SKIP() << "needs python3";
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

TEST_F(PolicyPrograms, an_unlimited_cache_reaches_the_ceiling) {
  const json golden = json::parse(read_file(FORGE_GOLDEN_TRACES "/golden.json"))["mooncake"];
  for (const std::string size : {"16", "512"}) {
    const std::string flags =
        "--workload " FORGE_GOLDEN_TRACES "/mooncake.jsonl --num-blocks 30000 --block-size " + size;
    for (const char* index : {"radix", "hash"}) {
      // One request at a time: each finds all that came before it.
      const json alone =
          bench(flags + " --max-batch-size 1 --step-us 0 --token-us 0 --prefix-cache " + index);
      EXPECT_EQ(alone["requests"], golden["requests"]);
      EXPECT_EQ(alone["prefix_cache"]["query_tokens"], golden["prompt_tokens"]);
      EXPECT_EQ(alone["prefix_cache"]["hit_tokens"], golden["hit_tokens"][size]) << index;
      // Many at a time: those that come together are admitted together, and do not find one
      // another's prompts.
      const json together = bench(flags + " --max-batch-size 256 --prefix-cache " + index);
      EXPECT_EQ(together["prefix_cache"]["hit_tokens"], golden["hit_tokens_of_earlier"][size])
          << index;
    }
    EXPECT_LT(golden["hit_tokens_of_earlier"][size], golden["hit_tokens"][size]);
  }
}

TEST_F(PolicyPrograms, extra_an_unlimited_cache_reaches_the_ceiling_of_production_traffic) {
  if (!has_python()) GTEST_SKIP() << "needs python3";
  if (!std::filesystem::exists(FORGE_MOONCAKE_TRACE)) {
    GTEST_SKIP() << "an extra test: there is no " FORGE_MOONCAKE_TRACE;
  }
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
  for (const std::string flag : {"--mode continuous", "--model forge-tiny", "--draft-layers 1"}) {
    const Outcome outcome = run(FORGE_BENCH " --target null " + flag);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_NE(outcome.output.find("does not apply to --target null"), std::string::npos)
        << outcome.output;
  }
}

TEST_F(PolicyPrograms, a_run_with_chunks_prefix_hits_swaps_and_recomputes_replays_to_its_digest) {
  std::ofstream workload(path("w.jsonl"));
  for (int i = 0; i < 24; ++i) {
    const int prompt_tokens = std::array{60, 130, 90, 400, 40}[static_cast<std::size_t>(i % 5)];
    workload << json{{"timestamp", 20 * i},
                     {"input_length", prompt_tokens},
                     {"output_length", 60 + 5 * i},
                     {"hash_ids", {i % 2}}}
             << '\n';
  }
  workload.close();
  const std::string flags =
      "--block-size 8 --num-blocks 110 --num-host-blocks 30 --max-batch-size 12 --mixed-priorities "
      "--max-batch-tokens 64 --prefill-chunk-size 24 --workload " +
      path("w.jsonl");
  for (const auto& [target, label] :
       {std::pair{"--target cpu --mode continuous ", "continuous   digest"},
        std::pair{"--target cpu --mode speculative ", "speculative  digest"},
        std::pair{"--target null --speculative 2 ", "digest"}}) {
    replay_and_compare(target + flags, label);
    EXPECT_NE(read_file(path("t.jsonl")).find(",0,false]"), std::string::npos)
        << "no slice ends before its prompt does";
    const Outcome stats = run(FORGE_TRACE " stats --json " + path("t.jsonl"));
    const json counts = json::parse(stats.output, nullptr, false);
    for (const char* part : {"/prefix_cache/hits", "/preemptions/recompute", "/preemptions/swap",
                             "/copies/within", "/copies/swap_out", "/copies/swap_in"}) {
      EXPECT_GT(counts.value(json::json_pointer(part), 0), 0)
          << part << " of the run of " << target << '\n'
          << stats.output;
    }
  }
}

}  // namespace
}  // namespace forge::testing
