// forge-model attention: what the built-in model looks at.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "apps/model_programs.h"
#include "forge/builtin/trained_model.h"

namespace forge::testing {
namespace {

using ::testing::HasSubstr;

class AttentionProgram : public ModelProgramTest {};

TEST_F(AttentionProgram, every_head_shares_out_one_whole_among_the_tokens) {
  const nlohmann::json look =
      nlohmann::json::parse(write_model("attention --json --prompt 'Ada is at the mill.'"));
  const auto config = builtin::trained_config();
  ASSERT_EQ(look["heads"].size(), static_cast<std::size_t>(config.layers * config.heads));
  int place = 0;
  for (const auto& head : look["heads"]) {
    EXPECT_EQ(head["layer"], place / config.heads);
    EXPECT_EQ(head["head"], place % config.heads);
    ++place;
    const auto weights = head["weights"].get<std::vector<double>>();
    EXPECT_EQ(weights.size(), look["tokens"].size());
    EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1, 1e-12);
    EXPECT_GE(std::ranges::min(weights), 0);
  }
  std::string text;
  for (const auto& token : look["tokens"]) text += token.get<std::string>();
  EXPECT_EQ(text, "Ada is at the mill.");
}

TEST_F(AttentionProgram, to_say_where_somebody_is_a_head_looks_at_the_place) {
  const std::string story = "Ada is at the mill. Ben is at the forge. Where is Ada? Ada is at the";
  const nlohmann::json look =
      nlohmann::json::parse(write_model("attention --json --prompt '" + story + "'"));
  EXPECT_EQ(look["next"][0]["text"], " mill");
  EXPECT_GE(look["next"][0]["probability"].get<double>(), 0.9);
  const auto& tokens = look["tokens"];
  const auto place = static_cast<std::size_t>(std::ranges::find(tokens, " mill") - tokens.begin());
  ASSERT_LT(place, tokens.size());
  double most = 0;
  for (const auto& head : look["heads"])
    most = std::max(most, head["weights"][place].get<double>());
  EXPECT_GE(most, 0.5);
  EXPECT_THAT(write_model("attention --prompt '" + story + "'"), HasSubstr("next    1.000"));
}

TEST_F(AttentionProgram, a_text_that_the_model_cannot_read_is_refused) {
  Outcome outcome = forge_model("attention --prompt ''");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("--prompt: has 0 tokens; accepted are 1 to 2048"));
  outcome = forge_model("attention --prompt $(head -c 9000 /dev/zero | tr '\\0' '7')");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("--prompt: has 9000 tokens; accepted are 1 to 2048"));
}

}  // namespace
}  // namespace forge::testing
