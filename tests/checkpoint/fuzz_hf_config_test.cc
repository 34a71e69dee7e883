// What fuzz_hf_config.cc does under libFuzzer, for every compiler: the golden configurations, with
// members replaced and bytes changed at random, the same ones in every run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <random>
#include <vector>

#include "checkpoint/adapter_edit.h"
#include "checkpoint/checkpoint_edit.h"
#include "checkpoint/damage.h"
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

/// A few changes, of which some take what `other` has.
void change(json& config, const json& other, Random& random) {
  std::vector<std::uint8_t> bytes(20);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  testing::Choices choices(bytes);
  for (std::size_t i = 1 + below(random, 3); i > 0; --i) testing::damage(config, other, choices);
}

TEST(FuzzHfConfig, members_that_are_anything_never_crash) {
  const std::vector<json> originals = goldens();
  ASSERT_EQ(originals.size(), 58u);
  Random random(20);
  int readable = 0;
  for (int round = 0; round < 20000; ++round) {
    json config = originals[below(random, originals.size())];
    change(config, originals[below(random, originals.size())], random);
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
    change(config, originals[below(random, originals.size())], random);
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
