#include "forge/chat/chat_template.h"

#include "golden_chat.h"

namespace forge::chat::testing {
namespace {

std::string prompt(const Conversation& conversation, std::string_view text = "") {
  const auto parsed = ChatTemplate::parse(text);
  if (!parsed) return to_string(parsed.error());
  const auto out = parsed->render(conversation, options());
  return out ? *out : to_string(out.error());
}

Json message(const char* role, const Json& content) {
  return {{"role", role}, {"content", content}};
}

TEST(ChatTemplate, a_model_without_one_gets_chatml) {
  Conversation conversation;
  conversation.messages = {message("system", "Be brief."), message("user", "Hi"),
                           message("assistant", "Hello."), message("user", "Bye")};
  EXPECT_EQ(prompt(conversation),
            "<|im_start|>system\nBe brief.<|im_end|>\n"
            "<|im_start|>user\nHi<|im_end|>\n"
            "<|im_start|>assistant\nHello.<|im_end|>\n"
            "<|im_start|>user\nBye<|im_end|>\n"
            "<|im_start|>assistant\n");
  conversation.add_generation_prompt = false;
  conversation.messages = Json::array();
  EXPECT_EQ(prompt(conversation), "");
}

TEST(ChatTemplate, tools_are_as_the_hermes_models_have_them) {
  Conversation conversation;
  const Json call = {{"type", "function"},
                     {"function", {{"name", "get"}, {"arguments", {{"z", 1}, {"a", "ü"}}}}}};
  const Json spelt = {{"function", {{"name", "get"}, {"arguments", R"({"z":2})"}}}};
  Json asks = message("assistant", nullptr);
  asks["tool_calls"] = {call, spelt};
  conversation.messages = {message("system", "Be brief."), message("user", "Get it."), asks,
                           message("tool", "1"), message("tool", "2")};
  conversation.tools = {{{"type", "function"}, {"function", {{"name", "get"}}}}};
  EXPECT_EQ(
      prompt(conversation),
      "<|im_start|>system\nBe brief.\n\n# Tools\n\n"
      "You may call one or more functions to assist with the user query.\n\n"
      "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
      "{\"type\": \"function\", \"function\": {\"name\": \"get\"}}\n</tools>\n\n"
      "For each function call, return a json object with function name and arguments within "
      "<tool_call></tool_call> XML tags:\n<tool_call>\n"
      "{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call><|im_end|>\n"
      "<|im_start|>user\nGet it.<|im_end|>\n"
      "<|im_start|>assistant\n"
      "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"z\": 1, \"a\": \"ü\"}}\n</tool_call>\n"
      "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"z\":2}}\n</tool_call><|im_end|>\n"
      "<|im_start|>user\n<tool_response>\n1\n</tool_response>\n"
      "<tool_response>\n2\n</tool_response><|im_end|>\n"
      "<|im_start|>assistant\n");
}

TEST(ChatTemplate, variables_have_the_names_of_transformers) {
  Conversation conversation;
  conversation.messages = Json::array({message("user", "Hi")});
  conversation.bos_token = "<s>";
  conversation.more = {{"enable_thinking", false}, {"bos_token", "of no use"}};
  EXPECT_EQ(prompt(conversation,
                   "{{ bos_token }}{{ eos_token is defined }}{{ tools }}{{ documents }}"
                   "{{ add_generation_prompt }}{{ enable_thinking }}{{ messages }}"),
            "<s>FalseNoneNoneTrueFalse[{'role': 'user', 'content': 'Hi'}]");
}

TEST(ChatTemplate, a_conversation_that_is_none_is_refused) {
  Conversation conversation;
  conversation.messages = "Hi";
  EXPECT_EQ(prompt(conversation), "line 1: messages are no list of objects");
  conversation.messages = Json::array({"Hi"});
  EXPECT_EQ(prompt(conversation), "line 1: messages are no list of objects");
  conversation.messages = Json::array();
  conversation.tools = Json::object();
  EXPECT_EQ(prompt(conversation), "line 1: tools are no list");
}

}  // namespace
}  // namespace forge::chat::testing
