// A trained model, where it is at hand: texts that an independent implementation wrote with it
// (golden.json beside it), from its SafeTensors and from its GGUF.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "transformer/transformer_runner.h"

namespace forge {
namespace {

using testing::LoadedModel;

const std::string kFolder = FORGE_STORIES;

nlohmann::json json_file(const std::string& name) {
  return nlohmann::json::parse(std::ifstream(kFolder + "/" + name));
}

/// The texts of tokens by their ids, from tokenizer.json.
class Vocabulary {
 public:
  Vocabulary() {
    const auto json = json_file("tokenizer.json");
    for (const auto& [text, id] : json["model"]["vocab"].items()) {
      texts_[id.get<std::uint32_t>()] = readable(text);
    }
  }

  std::string text_of(const std::vector<TokenId>& tokens) const {
    std::string text;
    for (const TokenId token : tokens) text += texts_.at(token.value);
    return text;
  }

 private:
  static std::string readable(std::string text) {
    if (text.starts_with("<0x"))
      return {static_cast<char>(std::stoi(text.substr(3, 2), nullptr, 16))};
    const std::string space = "\xe2\x96\x81";
    for (auto at = text.find(space); at != std::string::npos; at = text.find(space)) {
      text.replace(at, space.size(), " ");
    }
    return text;
  }

  std::map<std::uint32_t, std::string> texts_;
};

/// Of a story: <s> and the 200 that follow it.
constexpr std::uint32_t kTokens = 201;

/// The prompts of golden.json, after <s>.
const std::map<std::string, std::vector<std::uint32_t>> kPrompts = {
    {"Once upon a time", {1, 403, 407, 261, 378}},
    {"Lily and Tom", {1, 317, 269, 274, 287}},
    {"The dog", {1, 291, 400, 428}}};

TEST(Stories, are_told_word_for_word_from_both_formats) {
  if (!std::filesystem::exists(kFolder)) GTEST_SKIP() << "needs " << kFolder;
  const Vocabulary vocabulary;
  const auto golden = json_file("golden.json");
  ASSERT_EQ(golden["cases"].size(), kPrompts.size());
  for (const std::string path : {"", "/stories260K.gguf"}) {
    const LoadedModel model(kFolder + path);
    for (const auto& story : golden["cases"]) {
      std::vector<TokenId> tokens;
      for (const std::uint32_t id : kPrompts.at(story["prompt"])) tokens.emplace_back(id);
      const auto more = testing::greedy(model.transformer(), tokens,
                                        kTokens - static_cast<std::uint32_t>(tokens.size()));
      tokens.erase(tokens.begin());  // <s>
      tokens.insert(tokens.end(), more.begin(), more.end());
      std::string text = vocabulary.text_of(tokens);
      text.resize(std::min(text.find("<s>"), text.size()));  // where the model begins another one
      EXPECT_EQ(text, " " + story["text"].get<std::string>()) << path;
    }
  }
}

}  // namespace
}  // namespace forge
