// What is refused of a tokenizer.json, and how it is said. The golden tokenizers and those of the
// wild show what is taken.
#include "forge/text/load_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "formats/scratch_folder.h"
#include "text/checkpoint_files.h"

namespace forge::text {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string golden_text(const std::string& kind) {
  return test::text_of_file(std::string(FORGE_GOLDEN_TOKENISERS) + "/" + kind + "/tokenizer.json");
}

/// What is said of a golden tokenizer of `kind` after `damage`.
std::string refusal(const std::string& kind, const std::function<void(json&)>& damage) {
  json file = json::parse(golden_text(kind));
  damage(file);
  const auto loaded = parse_tokenizer(file.dump(), {}, "t.json");
  return loaded ? "taken" : loaded.error().message;
}

std::string config_refusal(const std::string& config) {
  const auto loaded = parse_tokenizer(golden_text("gpt2"), config, "t.json");
  return loaded ? "taken" : loaded.error().message;
}

TEST(LoadTokenizer, an_undamaged_one_is_taken) {
  EXPECT_EQ(refusal("gpt2", [](json&) {}), "taken");
  EXPECT_EQ(config_refusal("{}"), "taken");
}

TEST(LoadTokenizer, a_missing_file_is_named) {
  const auto loaded = load_tokenizer("/nowhere");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().file, "/nowhere/tokenizer.json");
}

TEST(LoadTokenizer, a_file_that_is_too_large_is_not_parsed) {
  const formats::testing::ScratchFolder folder;
  const std::string path = folder.write("tokenizer.json", "{}");
  std::filesystem::resize_file(path, (std::uint64_t{64} << 20) + 1);  // zeros that take no room
  EXPECT_EQ(to_string(load_tokenizer(folder.path()).error()),
            path + ": has 67108865 bytes; accepted are up to 67108864");
}

TEST(LoadTokenizer, links_to_nothing_are_said_to_be_some) {
  const formats::testing::ScratchFolder folder;
  folder.write("tokenizer.json", golden_text("gpt2"));
  EXPECT_TRUE(load_tokenizer(folder.path()).has_value());
  const std::string config = folder.file("tokenizer_config.json");
  std::filesystem::create_symlink("../blobs/0a1b", config);
  EXPECT_EQ(to_string(load_tokenizer(folder.path()).error()),
            config + ": is a link to '../blobs/0a1b', where there is no file");
}

TEST(LoadTokenizer, what_is_not_json_is_refused) {
  const auto message = [](const std::string& text) {
    return parse_tokenizer(text, {}, "t.json").error().message;
  };
  EXPECT_THAT(message(""), HasSubstr("is not JSON"));
  EXPECT_THAT(message("{\"model\": "), HasSubstr("is not JSON in or right after '{\"model\": '"));
  EXPECT_THAT(message(golden_text("gpt2") + std::string(1, '\0') + "more"),
              HasSubstr("a zero byte"));
  EXPECT_THAT(message("[]"), HasSubstr("is a list of 0; accepted is an object"));
  EXPECT_THAT(message("{\"model\": {}, \"model\": {}}"), HasSubstr("has the key 'model' twice"));
  EXPECT_THAT(message(std::string(100000, '[')), HasSubstr("deeper than 32"));
}

TEST(LoadTokenizer, another_kind_of_model_is_named) {
  EXPECT_THAT(refusal("gpt2", [](json& f) { f["model"]["type"] = "WordPiece"; }),
              HasSubstr("model.type is \"WordPiece\"; accepted is \"BPE\", \"Unigram\""));
  EXPECT_THAT(refusal("gpt2", [](json& f) { f["model"]["dropout"] = 0.1; }),
              HasSubstr("model.dropout is 0.1"));
  EXPECT_THAT(refusal("gpt2", [](json& f) { f["model"]["end_of_word_suffix"] = "</w>"; }),
              HasSubstr("model.end_of_word_suffix is \"</w>\""));
}

TEST(LoadTokenizer, a_vocabulary_has_ids_that_are_unique_and_in_proportion) {
  EXPECT_THAT(refusal("gpt2", [](json& f) { f["model"]["vocab"]["x"] = -1; }),
              HasSubstr("the id of the token 'x' is -1"));
  EXPECT_THAT(refusal("gpt2", [](json& f) { f["model"]["vocab"]["new"] = 5; }),
              HasSubstr("both have the id 5"));
  EXPECT_THAT(refusal("gpt2", [](json& f) { f["model"]["vocab"]["new"] = 4000000000U; }),
              HasSubstr("the id 4000000000 of a token is too large for a file of"));
}

TEST(LoadTokenizer, merges_are_of_tokens_and_are_there_once) {
  const auto with = [](const json& merge) {
    return refusal("gpt2", [&](json& f) { f["model"]["merges"].push_back(merge); });
  };
  EXPECT_THAT(with(json::array({"a", "qqq"})), HasSubstr("of 'a' and 'qqq' names 'qqq'"));
  EXPECT_THAT(with(json::array({"!", "!"})), HasSubstr("names '!!', which is no token"));
  EXPECT_THAT(with("a"), HasSubstr("is \"a\"; accepted are two tokens"));
  EXPECT_THAT(with("a b c"), HasSubstr("accepted are two tokens"));
  EXPECT_THAT(with(7), HasSubstr("accepted are two tokens"));
  EXPECT_THAT(refusal("gpt2",
                      [](json& f) {
                        json& merges = f["model"]["merges"];
                        const json first = merges[0];
                        merges.push_back(first);
                      }),
              HasSubstr("is there twice"));
}

TEST(LoadTokenizer, added_tokens_agree_with_the_vocabulary) {
  const auto with = [](const char* key, const json& value) {
    return refusal("gpt2", [&](json& f) { f["added_tokens"][0][key] = value; });
  };
  EXPECT_THAT(with("content", ""), HasSubstr("added_tokens[0].content is \"\""));
  EXPECT_THAT(with("id", 3), HasSubstr("both have the id 3"));
  EXPECT_THAT(with("id", nullptr), HasSubstr("added_tokens[0].id is missing"));
  EXPECT_THAT(with("single_word", true), HasSubstr("added_tokens[0].single_word is true"));
  EXPECT_THAT(with("content", "<|user|>"), HasSubstr("'<|user|>' is added twice"));
  EXPECT_THAT(with("content", "a"), HasSubstr("are both spelt 'a'"));
}

TEST(LoadTokenizer, a_stage_that_is_not_understood_is_named) {
  EXPECT_THAT(refusal("gpt2",
                      [](json& f) {
                        f["normalizer"] = {{"type", "BertNormalizer"}};
                      }),
              HasSubstr("normalizer.type is \"BertNormalizer\"; accepted is Sequence, Prepend"));
  EXPECT_THAT(refusal("gpt2",
                      [](json& f) {
                        f["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
                      }),
              HasSubstr("pre_tokenizer.type is \"BertPreTokenizer\"; accepted is Sequence, Split"));
  EXPECT_THAT(refusal("gpt2", [](json& f) { f["pre_tokenizer"] = nullptr; }),
              HasSubstr("neither pre_tokenizer ByteLevel or Metaspace nor"));
  EXPECT_THAT(refusal("gpt2", [](json& f) { f["post_processor"]["type"] = "BertProcessing"; }),
              HasSubstr("post_processor.type is \"BertProcessing\""));
  const auto with_split = [](const char* key, const json& value) {
    return refusal("qwen2", [&](json& f) { f["pre_tokenizer"]["pretokenizers"][0][key] = value; });
  };
  EXPECT_THAT(
      with_split("behavior", "Joined"),
      HasSubstr("pre_tokenizer.pretokenizers[0].behavior is \"Joined\"; accepted is Isolated"));
  EXPECT_THAT(with_split("pattern", {{"Regex", "a(b"}}),
              HasSubstr("the pattern 'a(b' is wrong at"));
  EXPECT_THAT(with_split("pattern", {{"Regex", "\\w+"}}), HasSubstr("has the escape \\w"));
  EXPECT_THAT(with_split("pattern", {{"Regex", "[a&&b]"}}), HasSubstr("intersection of classes"));
}

TEST(LoadTokenizer, a_pattern_without_end_finds_nothing_and_loses_nothing) {
  json file = json::parse(golden_text("qwen2"));
  file["pre_tokenizer"]["pretokenizers"][0]["pattern"] = {{"Regex", "(?:a|a|aa)+b"}};
  const auto tokenizer = test::taken(parse_tokenizer(file.dump(), {}, "t.json"));
  const std::string text(2000, 'a');
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text).value()), text);
}

TEST(LoadTokenizer, the_configuration_has_the_last_word_on_the_beginning) {
  const std::string text = golden_text("llama3");
  const auto begin_with = [&](const std::string& config) {
    return test::taken(parse_tokenizer(text, config, "t.json"))->encode("").value();
  };
  EXPECT_EQ(begin_with("").size(), 1u) << "the template's";
  EXPECT_THAT(begin_with(R"({"add_bos_token": false})"), ElementsAre());
  EXPECT_NE(begin_with(R"({"add_bos_token": true, "bos_token": "<|end|>"})"), begin_with(""));
}

TEST(LoadTokenizer, a_configuration_that_is_not_understood_is_refused) {
  EXPECT_THAT(config_refusal("{"), HasSubstr("is not JSON"));
  EXPECT_EQ(parse_tokenizer(golden_text("gpt2"), "{", "d/t.json").error().file,
            "d/tokenizer_config.json");
  EXPECT_THAT(config_refusal(R"({"eos_token": "<gone>"})"),
              HasSubstr("eos_token is \"<gone>\"; accepted is the spelling of a token"));
  EXPECT_THAT(config_refusal(R"({"add_bos_token": true})"),
              HasSubstr("bos_token is missing; accepted is a token, as add_bos_token is true"));
  EXPECT_THAT(config_refusal(R"({"add_eos_token": true})"),
              HasSubstr("eos_token is missing; accepted is a token, as add_eos_token is true"));
}

}  // namespace
}  // namespace forge::text
