// Tokenizers that forge-model writes to GGUF: they have the tokens of those it has read.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/model_programs.h"
#include "forge/text/load_tokenizer.h"

namespace forge::testing {
namespace {

using nlohmann::json;

/// Models with the tokenizers of tests/golden/tokenizers.
class GgufTokenizers : public ModelProgramTest {
 protected:
  void SetUp() override {
    ModelProgramTest::SetUp();
    json config = json::parse(read_file(golden("llama") + "/config.json"));
    config["vocab_size"] = 512;
    std::ofstream(path("config.json")) << config;
    write_model("random --config " + path("config.json") + " " + path("m"));
  }

  /// path("m") becomes a model with that tokenizer, path("m.gguf") the same in GGUF. Returns: what
  /// convert says.
  std::string convert(const std::string& name) const {
    for (const char* file : {"/tokenizer.json", "/tokenizer_config.json"}) {
      std::filesystem::copy_file(kFolder + name + file, path("m") + file,
                                 std::filesystem::copy_options::overwrite_existing);
    }
    return write_model("convert --force " + path("m") + " " + path("m.gguf"));
  }

  const std::string kFolder = FORGE_SOURCE_DIR "/tests/golden/tokenizers/";
};

TEST_F(GgufTokenizers, have_the_tokens_of_hugging_faces) {
  for (const std::string name : {"digits", "gpt2", "llama2", "llama3", "olmo2", "qwen2"}) {
    const std::string said = convert(name);
    const auto file = formats::Gguf::open(path("m.gguf"));
    ASSERT_TRUE(file.has_value());
    const auto tokenizer = text::load_tokenizer(*file);
    ASSERT_TRUE(tokenizer.has_value()) << name << ": " << to_string(tokenizer.error());
    const json vectors = json::parse(read_file(kFolder + name + "/vectors.json"));
    int compared = 0;
    for (const json& vector : vectors) {
      const std::string text = vector["text"];
      // Two kinds of added tokens are not the same in GGUF, as notes say.
      if (text.find("<strip>") != text.npos) continue;
      if (name == "llama2" && text.find("added") != text.npos) continue;
      std::vector<std::uint32_t> ids;
      const auto encoded = (*tokenizer)->encode(text).value();
      for (const TokenId token : encoded) ids.push_back(token.value);
      EXPECT_EQ(ids, vector["ids"].get<std::vector<std::uint32_t>>()) << name << ": " << text;
      ++compared;
    }
    EXPECT_GT(compared, 20) << name;
    EXPECT_NE(said.find("token '<strip>' does not take the spaces"), said.npos) << said;
    EXPECT_EQ(said.find("is looked for before") != said.npos, name == "llama2") << said;
  }
}

TEST_F(GgufTokenizers, are_left_out_with_a_note_where_gguf_has_no_name_for_them) {
  for (const std::string name : {"deepseek_v3", "prefix_space"}) {
    const std::string said = convert(name);
    EXPECT_NE(said.find("no tokenizer is written: GGUF has no name"), said.npos) << said;
    EXPECT_EQ(info(path("m.gguf"))["tokenizer"]["kind"], "none");
  }
  EXPECT_NE(
      convert("composed").find("no tokenizer is written: GGUF has no name for its normalizer"),
      std::string::npos);
  EXPECT_NE(convert("mistral").find("a space is put before every text"), std::string::npos);
}

TEST_F(GgufTokenizers, keep_whether_text_is_composed) {
  const std::string e_and_acute = "e\xCC\x81";
  const auto comes_back_as = [&](const std::string& text) {
    const auto file = formats::Gguf::open(path("m.gguf"));
    const auto tokenizer = text::load_tokenizer(*file);
    return (*tokenizer)->decode((*tokenizer)->encode(text).value());
  };
  convert("qwen2");
  EXPECT_EQ(comes_back_as(e_and_acute), "\xC3\xA9");
  json file = json::parse(read_file(path("m") + "/tokenizer.json"));
  file["normalizer"] = nullptr;
  std::ofstream(path("m") + "/tokenizer.json") << file;
  write_model("convert --force " + path("m") + " " + path("m.gguf"));
  EXPECT_EQ(comes_back_as(e_and_acute), e_and_acute);
}

TEST_F(GgufTokenizers, come_back_whole) {
  convert("deepseek_v3");
  write_model("convert " + path("m.gguf") + " " + path("back"));
  for (const char* file : {"/tokenizer.json", "/tokenizer_config.json"}) {
    EXPECT_EQ(read_file(path("back") + file), read_file(path("m") + file));
  }
}

}  // namespace
}  // namespace forge::testing
