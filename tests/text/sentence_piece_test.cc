// tests/golden/sentencepiece: models of each kind, and what Google's `sentencepiece` makes of texts
// with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "text/checkpoint_files.h"

namespace forge::text {
namespace {

using nlohmann::json;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

std::string path_of(const std::string& name) {
  return std::string(FORGE_GOLDEN_SENTENCEPIECE) + "/" + name;
}

/// SentencePiece reads no spelling of a control token in a text, and adds nothing.
constexpr EncodeOptions kAsItIs{.add_special = false, .control_tokens = false};

struct Golden {
  std::string text;
  std::vector<TokenId> ids;
};

std::vector<Golden> cases_of(const std::string& name) {
  std::vector<Golden> cases;
  for (const json& entry : json::parse(test::text_of_file(path_of(name + ".json")))) {
    Golden read{entry["text"], {}};
    for (const json& id : entry["ids"]) read.ids.emplace_back(id.get<std::uint32_t>());
    cases.push_back(std::move(read));
  }
  return cases;
}

class SentencePieceModels : public ::testing::TestWithParam<const char*> {};

TEST_P(SentencePieceModels, every_text_becomes_the_tokens_of_sentencepiece) {
  const auto tokenizer = test::taken(load_tokenizer(path_of(std::string(GetParam()) + ".model")));
  const auto cases = cases_of(GetParam());
  ASSERT_GT(cases.size(), 50u);
  for (const Golden& each : cases) {
    EXPECT_THAT(tokenizer->encode(each.text, kAsItIs).value(), ElementsAreArray(each.ids))
        << each.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, SentencePieceModels,
                         ::testing::Values("unigram", "unigram_bytes", "unigram_plain",
                                           "unigram_suffix", "bpe", "bpe_unknown"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST(SentencePieceGguf, of_a_unigram_model_has_the_same_tokens) {
  const auto tokenizer = test::from_gguf(path_of("unigram.gguf"));
  for (const Golden& each : cases_of("unigram")) {
    EXPECT_THAT(tokenizer->encode(each.text, kAsItIs).value(), ElementsAreArray(each.ids))
        << each.text;
  }
  const auto eos = tokenizer->eos_tokens();
  EXPECT_THAT(tokenizer->encode("").value(), ElementsAreArray(eos)) << "as llama.cpp ends a text";
}

TEST(SentencePieceModel, names_tokens_with_a_task) {
  const auto tokenizer = test::taken(load_tokenizer(path_of("unigram_bytes.model")));
  EXPECT_EQ(tokenizer->spelling_of(tokenizer->bos_token().value()), "<s>");
  EXPECT_EQ(tokenizer->spelling_of(tokenizer->pad_token().value()), "<pad>");
  EXPECT_EQ(tokenizer->spelling_of(tokenizer->eos_tokens()[0]), "</s>");
  EXPECT_THAT(tokenizer->encode("").value(), ElementsAreArray({*tokenizer->bos_token()}));
}

TEST(SentencePieceModel, takes_a_configuration_beside_it) {
  const std::string model = test::text_of_file(path_of("unigram_bytes.model"));
  const json config = {
      {"add_bos_token", false},
      {"add_eos_token", true},
      {"eos_token", "<end>"},
      {"added_tokens_decoder", {{"1500", {{"content", "<end>"}, {"special", true}}}}}};
  const auto tokenizer =
      test::taken(parse_sentence_piece({model, config.dump()}, "tokenizer.model"));
  EXPECT_THAT(tokenizer->encode("").value(), ElementsAreArray({TokenId(1500)}));
  EXPECT_THAT(tokenizer->encode("<end>").value(), ElementsAreArray({TokenId(1500), TokenId(1500)}));
}

TEST(SentencePieceModel, takes_added_tokens_beside_it_unless_its_configuration_has_some) {
  const std::string model = test::text_of_file(path_of("unigram_bytes.model"));
  const std::string added = R"({"<end>": 1500, "<turn>": 1501, "plain": 1502})";
  const json config = {{"eos_token", "<end>"}, {"additional_special_tokens", {"<turn>"}}};
  const auto load = [&](const json& settings, const std::string& tokens) {
    return parse_sentence_piece({model, settings.dump(), tokens}, "d/tokenizer.model");
  };
  const auto tokenizer = test::taken(load(config, added));
  EXPECT_EQ(tokenizer->eos_tokens()[0], TokenId(1500));
  EXPECT_TRUE(tokenizer->is_control(TokenId(1501)));
  EXPECT_FALSE(tokenizer->is_control(TokenId(1502)));
  EXPECT_THAT(tokenizer->encode("plain<turn>", {.add_special = false}).value(),
              ElementsAreArray({TokenId(1502), TokenId(1501)}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("plain<turn>").value()), "plain");

  json with_own = config;
  with_own["added_tokens_decoder"] = {{"1500", {{"content", "<end>"}, {"special", true}}}};
  EXPECT_EQ(test::taken(load(with_own, added))->vocabulary_size(), 1501U);
  const auto wrong = load(config, R"({"<end>": "x"})");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().file, "d/added_tokens.json");
  EXPECT_THAT(wrong.error().message, HasSubstr("<end> is \"x\"; accepted"));
  EXPECT_EQ(load({{"additional_special_tokens", 3}}, added).error().file,
            "d/tokenizer_config.json");
}

TEST(SentencePieceModel, that_is_damaged_is_refused) {
  const std::string model = test::text_of_file(path_of("bpe.model"));
  const auto refusal = [](const std::string& bytes) {
    const auto loaded = parse_sentence_piece({bytes}, "tokenizer.model");
    return loaded ? "taken" : loaded.error().message;
  };
  EXPECT_EQ(refusal(model), "taken");
  EXPECT_THAT(refusal(""), HasSubstr("is no SentencePiece model: it has no pieces"));
  EXPECT_THAT(refusal("{}"), HasSubstr("is no SentencePiece model"));
  EXPECT_THAT(refusal(model.substr(0, model.size() / 2)), HasSubstr("bytes that are no field"));
  EXPECT_THAT(refusal(model + std::string("\x12\x02\x18\x04", 4)),
              HasSubstr("model_type is CHAR, accepted are UNIGRAM and BPE"));
  EXPECT_THAT(refusal(model + std::string("\x0A\x02\x0A\x00", 4)), HasSubstr("that is not empty"));
  EXPECT_THAT(refusal(model + std::string("\x1A\x03\x12\x01x", 5)),
              HasSubstr("precompiled_charsmap has no size"));
}

}  // namespace
}  // namespace forge::text
