// The chat template of a model, from its files.
#include "forge/chat/chat_format.h"

#include <gtest/gtest.h>

#include "formats/scratch_folder.h"

namespace forge::chat::testing {
namespace {

class ChatFormatFiles : public ::testing::Test {
 protected:
  /// What the template makes of nothing, with its tokens: "text|bos|eos"; or the error.
  std::string loaded() const {
    const auto format = load_chat_format(folder_.path());
    if (!format) return to_string(format.error());
    Conversation empty;
    empty.add_generation_prompt = false;
    return format->chat_template.render(empty, {}).value_or("?") + "|" +
           format->bos_token.value_or("-") + "|" + format->eos_token.value_or("-") +
           (format->of_model ? "" : " default");
  }

  formats::testing::ScratchFolder folder_;
};

TEST_F(ChatFormatFiles, are_the_default_where_there_are_none) {
  EXPECT_EQ(loaded(), "|-|- default");
  folder_.write("tokenizer_config.json",
                R"({"bos_token": "<s>", "eos_token": {"content": "</s>"}})");
  EXPECT_EQ(loaded(), "|<s>|</s> default");
}

TEST_F(ChatFormatFiles, have_the_template_in_a_configuration_or_a_file_of_its_own) {
  folder_.write("tokenizer_config.json", R"({"chat_template": "one", "bos_token": null})");
  EXPECT_EQ(loaded(), "one|-|-");
  folder_.write("tokenizer_config.json",
                R"({"chat_template": [{"name": "tool_use", "template": "a"},
                              {"name": "default", "template": "b"}]})");
  EXPECT_EQ(loaded(), "b|-|-");
  folder_.write("chat_template.jinja", "of a file");
  EXPECT_EQ(loaded(), "of a file|-|-");
}

TEST_F(ChatFormatFiles, that_cannot_be_used_are_named) {
  folder_.write("tokenizer_config.json", R"({"chat_template": "{{ a | nope }}"})");
  const std::string path = folder_.file("tokenizer_config.json");
  EXPECT_EQ(loaded(), path + ": the chat template, line 1: No filter named 'nope'.");
  folder_.write("tokenizer_config.json", R"({"chat_template": 3})");
  EXPECT_EQ(loaded(), path + ": chat_template is 3; accepted is a text");
  EXPECT_FALSE(load_chat_template(folder_.file("none.jinja")).has_value());
}

TEST(ChatFormatOfGguf, is_in_its_metadata) {
  const std::vector<std::string_view> tokens = {"<unk>", "<s>", "</s>"};
  formats::GgufMetadata metadata;
  metadata.emplace("tokenizer.ggml.tokens", formats::GgufValue(tokens));
  metadata.emplace("tokenizer.ggml.bos_token_id", formats::GgufValue(std::uint32_t{1}));
  metadata.emplace("tokenizer.ggml.eos_token_id", formats::GgufValue(std::uint32_t{7}));
  const auto none = load_chat_format(formats::Gguf::unwritten("m.gguf", metadata, {}));
  ASSERT_TRUE(none.has_value());
  EXPECT_FALSE(none->of_model);
  EXPECT_EQ(none->bos_token, "<s>");
  EXPECT_EQ(none->eos_token, std::nullopt);  // there is no token 7
  metadata.emplace("tokenizer.chat_template", formats::GgufValue(std::string_view("{{ 1 + 1 }}")));
  const auto own = load_chat_format(formats::Gguf::unwritten("m.gguf", metadata, {}));
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->chat_template.render({}, {}), "2");
  metadata.insert_or_assign("tokenizer.chat_template",
                            formats::GgufValue(std::string_view("{{ 1 + }}")));
  const auto broken = load_chat_format(formats::Gguf::unwritten("m.gguf", metadata, {}));
  ASSERT_FALSE(broken.has_value());
  EXPECT_EQ(broken.error().file, "m.gguf");
}

/// What ends an answer, by a template.
std::string end_by(const std::string& text) {
  return answer_end({.chat_template = ChatTemplate::parse(text).value(),
                     .bos_token = "<s>",
                     .eos_token = "</s>"});
}

TEST(AnswerEnd, is_what_the_template_puts_behind_the_last_answer) {
  EXPECT_EQ(answer_end(default_chat_format()), "<|im_end|>");
  EXPECT_EQ(end_by("{% for m in messages %}[{{ m.role }}] {{ m.content }} "
                   "{{ eos_token if m.role == 'assistant' }}{% endfor %}"),
            "</s>");
}

TEST(AnswerEnd, is_what_goes_before_the_next_question_where_nothing_is_behind_the_last_answer) {
  EXPECT_EQ(end_by("{% for m in messages %}{{ m.role | upper }}: {{ m.content }}\n{% endfor %}"),
            "\nUSER:");
  EXPECT_EQ(end_by("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"),
            "<|user|>");
}

TEST(AnswerEnd, is_unknown_where_it_cannot_be_seen) {
  EXPECT_EQ(end_by("{{ messages[0].content }}"), "");
  EXPECT_EQ(end_by("{{ raise_exception('Never.') }}"), "");
  EXPECT_EQ(end_by("{% for m in messages %}{{ m.content | upper }}!{% endfor %}"), "");
  EXPECT_EQ(end_by("{% for a in range(999999) %}{% for b in range(9) %}{% endfor %}{% endfor %}"),
            "");
  EXPECT_EQ(end_by("{% for m in messages %}{{ m.content }}\n{% endfor %}"), "");
}

}  // namespace
}  // namespace forge::chat::testing
