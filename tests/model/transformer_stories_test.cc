// Trained models: texts that an independent implementation wrote with them (golden.json beside
// them), from their SafeTensors and from their GGUF.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint_edit.h"
#include "model/transformer_runner.h"
#include "trained_checkpoints.h"

namespace forge::model {
namespace {

using testing::json_file;
using testing::LoadedModel;

/// The texts of tokens by their ids, from tokenizer.json.
class Vocabulary {
 public:
  explicit Vocabulary(const std::string& folder) {
    const auto json = json_file(folder + "/tokenizer.json");
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

/// The prompts of stories260K, whose golden.json has no tokens.
const std::map<std::string, std::vector<std::uint32_t>> kPrompts = {
    {"Once upon a time", {1, 403, 407, 261, 378}},
    {"Lily and Tom", {1, 317, 269, 274, 287}},
    {"The dog", {1, 291, 400, 428}}};

std::vector<TokenId> prompt_of(const nlohmann::json& story) {
  const auto ids = story.contains("tokens") ? story["tokens"].get<std::vector<std::uint32_t>>()
                                            : kPrompts.at(story["prompt"]);
  return {ids.begin(), ids.end()};
}

/// The first `count` of them as numbers.
std::vector<std::uint32_t> ids_of(const std::vector<TokenId>& tokens, std::size_t count) {
  std::vector<std::uint32_t> ids;
  for (std::size_t i = 0; i < std::min(count, tokens.size()); ++i) ids.push_back(tokens[i].value);
  return ids;
}

/// Up to where the model ends a story or begins another one.
std::string first_story(const std::string& text) {
  return text.substr(0, std::min(text.find("<s>"), text.find("</s>")));
}

using Stories = testing::TrainedCheckpointTest;

TEST_P(Stories, are_told_word_for_word_from_both_formats) {
  const Vocabulary vocabulary(GetParam().folder);
  const auto golden = json_file(GetParam().golden());
  ASSERT_EQ(golden["cases"].size(), 3u);
  for (const std::string& path : {std::string(GetParam().folder), GetParam().gguf()}) {
    const LoadedModel model(path);
    for (const auto& story : golden["cases"]) {
      std::vector<TokenId> tokens = prompt_of(story);
      const auto more = testing::greedy(model.transformer(), tokens,
                                        kTokens - static_cast<std::uint32_t>(tokens.size()));
      if (story.contains("more")) {
        EXPECT_EQ(ids_of(more, story["more"].size()), story["more"]) << path;
      }
      tokens.erase(tokens.begin());  // <s>
      tokens.insert(tokens.end(), more.begin(), more.end());
      EXPECT_EQ(first_story(vocabulary.text_of(tokens)), " " + story["text"].get<std::string>())
          << path;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Stories, testing::both_trained_checkpoints(), testing::label_of);

}  // namespace
}  // namespace forge::model
