// LoRA adapters as a user gives them: served, noted, recorded and replayed.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/programs.h"
#include "apps/server_process.h"

namespace forge::testing {
namespace {

using nlohmann::json;

const std::string kTalesAdapter = FORGE_GOLDEN_LORA "/tales_query";
const std::string kOfTales = std::string(" --model ") + FORGE_TALES;

class LoraPrograms : public ProgramTest {
 protected:
  /// Records a short run; returns its digest.
  std::string record(const std::string& name, const std::string& flags) const {
    const Outcome bench =
        run(FORGE_BENCH + kOfTales + flags +
            " --mode continuous --requests 4 --numerics canonical --trace " + path(name));
    EXPECT_EQ(bench.status, 0) << bench.output;
    return digest_after(bench.output, "digest");
  }

  Outcome replay(const std::string& name, const std::string& flags = "") const {
    return run(FORGE_TRACE " replay " + path(name) + flags);
  }
};

TEST_F(LoraPrograms, a_run_with_an_adapter_replays_to_its_own_digest_on_each_target) {
  const std::string plain = record("plain.jsonl", "");
  const std::string digest = record("t.jsonl", " --lora " + kTalesAdapter + ":0.5");
  EXPECT_NE(digest, plain);
  for (const char* const flags : {"", " --target sim"}) {
    const Outcome outcome = replay("t.jsonl", flags);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_EQ(digest_after(outcome.output, "all equal"), digest);
  }
}

TEST_F(LoraPrograms, an_adapter_that_has_moved_can_be_named_and_another_is_told_apart) {
  const std::string folder = path("adapter");
  std::filesystem::copy(kTalesAdapter, folder);
  const std::string digest = record("t.jsonl", " --lora " + folder);
  std::filesystem::rename(folder, path("moved"));
  const Outcome missing = replay("t.jsonl");
  EXPECT_EQ(missing.status, 2);
  EXPECT_NE(missing.output.find("--lora: " + folder +
                                "/adapter_config.json: cannot be opened: No such file"),
            std::string::npos)
      << missing.output;
  const Outcome moved = replay("t.jsonl", " --lora " + path("moved"));
  EXPECT_EQ(moved.status, 0) << moved.output;
  EXPECT_EQ(digest_after(moved.output, "all equal"), digest);
  const Outcome two = replay("t.jsonl", " --lora a --lora b");
  EXPECT_EQ(two.status, 2);
  EXPECT_NE(two.output.find("it ran with 1 adapter, so it replays without --lora or with as "
                            "many; given: 2"),
            std::string::npos)
      << two.output;

  json config = json::parse(read_file(path("moved") + "/adapter_config.json"));
  config["lora_alpha"] = 9;
  std::ofstream(path("moved") + "/adapter_config.json") << config;
  const Outcome other = replay("t.jsonl", " --lora " + path("moved"));
  EXPECT_EQ(other.status, 2);
  EXPECT_NE(other.output.find("target.model.weights is"), std::string::npos) << other.output;
}

TEST_F(LoraPrograms, a_server_says_what_was_merged) {
  const ServerProcess server(
      {"--model", FORGE_TALES, "--lora", kTalesAdapter, "--lora", kTalesAdapter + ":0"});
  const json answer =
      server
          .complete(
              {{"model", "tales"}, {"prompt", "The dog"}, {"max_tokens", 4}, {"temperature", 0}})
          .json();
  EXPECT_EQ(answer["usage"]["completion_tokens"], 4) << answer;
  EXPECT_NE(server.said().find("is merged into 6 layers, with the scale 1"), std::string::npos)
      << server.said();
  EXPECT_NE(server.said().find("has the scale 0 and changes nothing"), std::string::npos);
}

TEST_F(LoraPrograms, an_adapter_that_does_not_fit_is_refused_by_its_tensor) {
  const Outcome outcome =
      run(FORGE_BENCH + kOfTales +
          " --lora " FORGE_GOLDEN_LORA "/llama_root --mode continuous --requests 1");
  EXPECT_NE(outcome.status, 0);
  EXPECT_NE(outcome.output.find("--lora: "), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("is BF16[7, 64]; needed is F32[7, 60]"), std::string::npos)
      << outcome.output;
}

}  // namespace
}  // namespace forge::testing
