// What fuzz_hf_config.cc does under libFuzzer, for every compiler: the golden configurations, with
// members replaced and bytes changed at random, the same ones in every run.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "checkpoint/adapter_edit.h"
#include "checkpoint/checkpoint_edit.h"
#include "checkpoint/read_hf_config.h"

namespace forge::checkpoint {
namespace {

using nlohmann::json;
using testing::json_file;
using testing::read_config_in_every_way;
using Random = std::mt19937;

std::size_t below(Random& random, std::size_t limit) { return random() % limit; }

std::vector<json> goldens() {
  std::vector<std::string> paths;
  for (const auto& file : std::filesystem::recursive_directory_iterator(FORGE_GOLDEN_MODELS)) {
    if (file.path().filename().string().starts_with("config")) paths.push_back(file.path());
  }
  std::sort(paths.begin(), paths.end());  // whatever order the file system has
  std::vector<json> out;
  for (const std::string& path : paths) out.push_back(json_file(path));
  return out;
}

/// Values at which a reader may stumble.
const json& strange(Random& random) {
  static const json kValues = json::parse(R"([null, true, false, 0, 1, 2, 3, -1, 4, 8, 64, 1024,
      1048576, 2147483647, 2147483648, 18446744073709551615, -9223372036854775808, 1e300, -1e300,
      1e-300, 0.5, 1.5, "", "yarn", "linear", "llama3", "qwen3_moe", "deepseek_v2", "deepseek_v3",
      "group_limited_greedy", [], [1], [-1], ["full_attention"], {}, {"rope_type": "yarn"},
      {"quant_method": "gptq", "bits": 4, "group_size": 1}, {"a": {"weights": {}}},
      {"quant_method": "fp8", "weight_block_size": [128, 0]}, "gptq_v2", "pack-quantized",
      "float-quantized", "fp8"])");
  return kValues[below(random, kValues.size())];
}

/// Replaces or removes a member, of the object or of one within.
void change(json& object, Random& random) {
  auto member = object.begin();
  std::advance(member, static_cast<std::ptrdiff_t>(below(random, object.size())));
  if (member->is_object() && !member->empty() && below(random, 2) == 0) {
    change(*member, random);
  } else if (below(random, 8) == 0) {
    object.erase(member);
  } else {
    *member = strange(random);
  }
}

TEST(FuzzHfConfig, members_that_are_anything_never_crash) {
  const std::vector<json> originals = goldens();
  ASSERT_EQ(originals.size(), 58u);
  Random random(20);
  int readable = 0;
  for (int round = 0; round < 20000; ++round) {
    json config = originals[below(random, originals.size())];
    for (std::size_t i = 1 + below(random, 3); i > 0 && !config.empty(); --i) {
      change(config, random);
    }
    SCOPED_TRACE("round " + std::to_string(round));
    readable += int{read_config_in_every_way(config.dump())};
  }
  EXPECT_GT(readable, 2000) << "changes that are no damage, so the promises were tested too";
}

TEST(FuzzHfConfig, bytes_that_are_anything_never_crash) {
  const std::vector<json> originals = goldens();
  Random random(21);
  for (int round = 0; round < 5000; ++round) {
    std::string text = originals[below(random, originals.size())].dump();
    for (std::size_t i = 1 + below(random, 3); i > 0; --i) {
      text[below(random, text.size())] = static_cast<char>(random());
    }
    SCOPED_TRACE("round " + std::to_string(round));
    read_config_in_every_way(text);
  }
}

TEST(FuzzHfConfig, adapters_with_members_that_are_anything_never_crash) {
  std::vector<json> originals;
  for (const char* const name : {"llama_all", "llama_root"}) {
    originals.push_back(json_file(testing::golden_lora(name) + "/adapter_config.json"));
  }
  Random random(22);
  int readable = 0;
  for (int round = 0; round < 10000; ++round) {
    json config = originals[below(random, originals.size())];
    for (std::size_t i = 1 + below(random, 3); i > 0; --i) change(config, random);
    std::string text = config.dump();
    if (round % 4 == 0) text[below(random, text.size())] = static_cast<char>(random());
    SCOPED_TRACE("round " + std::to_string(round));
    readable += int{testing::read_lora_config(text)};
  }
  EXPECT_GT(readable, 1000);
}

TEST(FuzzHfConfig, a_cut_anywhere_never_crashes) {
  const std::string text = goldens().front().dump();
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(read_config_in_every_way(text.substr(0, length)));
  }
}

}  // namespace
}  // namespace forge::checkpoint
