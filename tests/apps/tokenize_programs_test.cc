// forge-model tokenize and detokenize as a user runs them.
#include <nlohmann/json.hpp>

#include "apps/programs.h"

namespace forge::testing {
namespace {

const std::string kTokenizers = FORGE_SOURCE_DIR "/tests/golden/tokenizers/";
const std::string kLlama3 = kTokenizers + "llama3";

class TokenizePrograms : public ProgramTest {
 protected:
  Outcome with(const std::string& arguments, const std::string& input) const {
    std::ofstream(path("input"), std::ios::binary) << input;
    return run(FORGE_MODEL " " + arguments + " < " + path("input"));
  }
};

TEST_F(TokenizePrograms, show_each_token_control_tokens_as_they_are_spelt) {
  const Outcome shown = with("tokenize " + kLlama3, "the dog<|end|> \xF0\x9F\xA6\x99");
  EXPECT_EQ(shown.status, 0);
  EXPECT_EQ(shown.output,
            "421  <|user|>\n"
            "258  \"the\"\n"
            "314  \" dog\"\n"
            "420  <|end|>\n"
            "220  \" \"\n"
            "172  '\\xf0'\n"
            "253  '\\x9f'\n"
            " 99  '\\xa6'\n"
            "247  '\\x99'\n");
}

TEST_F(TokenizePrograms, print_ids_with_and_without_what_the_model_puts_around_a_text) {
  EXPECT_EQ(with("tokenize --ids " + kLlama3, "the dog").output, "421 258 314\n");
  EXPECT_EQ(with("tokenize --ids --no-special " + kLlama3, "the dog").output, "258 314\n");
  EXPECT_EQ(with("tokenize --ids --no-special " + kLlama3, "").output, "\n");
}

/// All that the reference says of a tokenizer, through the programs and back.
TEST_F(TokenizePrograms, make_the_tokens_of_the_reference_and_the_text_of_them) {
  for (const std::string kind : {"qwen2", "llama2", "unigram"}) {
    const std::string folder = kTokenizers + kind;
    for (const auto& entry : nlohmann::json::parse(read_file(folder + "/vectors.json"))) {
      const std::string text = entry["text"];
      std::string ids;
      for (const auto& id : entry["ids"]) ids += (ids.empty() ? "" : " ") + id.dump();
      EXPECT_EQ(with("tokenize --ids " + folder, text).output, ids + "\n") << text;
      EXPECT_EQ(with("detokenize " + folder, entry["ids"].dump()).output, entry["decoded"]) << text;
    }
  }
}

TEST_F(TokenizePrograms, detokenize_prints_control_tokens_where_asked) {
  EXPECT_EQ(with("detokenize " + kLlama3, "421, 258\n314 420").output, "the dog");
  EXPECT_EQ(with("detokenize --special " + kLlama3, "421 258 314 420").output,
            "<|user|>the dog<|end|>");
  EXPECT_EQ(with("detokenize " + kLlama3, "172 253").output, "\xEF\xBF\xBD") << "half a character";
}

TEST_F(TokenizePrograms, say_what_they_cannot_read) {
  const Outcome id = with("detokenize " + kLlama3, "258 425");
  EXPECT_EQ(id.status, 2);
  EXPECT_EQ(id.output,
            "forge-model: standard input: token 1 is '425'; accepted are ids, 0 .. 424\n");
  const Outcome word = with("detokenize " + kLlama3, "the");
  EXPECT_EQ(word.status, 2);
  EXPECT_TRUE(has(word, "token 0 is 'the'")) << word.output;
  const Outcome file = with("tokenize " + path("none"), "the");
  EXPECT_EQ(file.status, 2);
  EXPECT_TRUE(has(file, "forge-model: FILE: ")) << file.output;
}

}  // namespace
}  // namespace forge::testing
