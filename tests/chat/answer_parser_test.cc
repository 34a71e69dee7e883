// Answers taken apart: what each form of calls looks like, what is no call, and that nothing is
// lost or depends on how an answer is cut.
#include "forge/chat/answer_parser.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "chat/answer_pieces.h"
#include "forge/chat/chat_template.h"
#include "golden_chat.h"

namespace forge::chat {
namespace {

using testing::all_of;
using testing::Json;
using testing::Pieces;
using testing::text_of;
using Calls = std::vector<std::pair<std::string, std::string>>;

AnswerRules rules(CallForm form) {
  return {.form = {.calls = form, .reasons = true}, .tools = {"f", "get_weather"}};
}

/// What a client sees of a whole answer.
Pieces seen(const AnswerRules& rules, const std::string& answer) {
  AnswerParser parser(rules);
  std::vector<AnswerEvent> events = parser.push(answer);
  for (AnswerEvent& event : parser.finish()) events.push_back(std::move(event));
  return all_of(events);
}

Pieces seen(CallForm form, const std::string& answer) { return seen(rules(form), answer); }

TEST(AnswerParser, finds_calls_of_hermes) {
  const std::string call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": [1, \"}\"]}}\n";
  const Pieces one = seen(CallForm::hermes, "Let me see.\n" + call + "</tool_call>");
  EXPECT_EQ(one.content, "Let me see.");
  EXPECT_EQ(one.calls, (Calls{{"f", R"({"a": [1, "}"]})"}}));
  const Pieces two = seen(CallForm::hermes, call + "</tool_call>\n" + call + "</tool_call>\n\n");
  EXPECT_EQ(two.content, "");
  EXPECT_EQ(two.calls.size(), 2U);
  EXPECT_EQ(seen(CallForm::hermes, call + "</tool_call>\nDone. ").content, "Done. ");
}

TEST(AnswerParser, finds_calls_of_llama3) {
  const std::string call = R"({"name": "f", "parameters": {"a": {}}})";
  const Calls expected{{"f", R"({"a": {}})"}};
  for (const std::string& answer :
       {call, "\n" + call, "<|python_tag|>" + call, "<think>\nHm.\n</think>\n\n" + call,
        std::string(R"({"type": "function", "name": "f", "arguments": {"a": {}}})")}) {
    EXPECT_EQ(seen(CallForm::llama3, answer).calls, expected) << answer;
    EXPECT_EQ(seen(CallForm::llama3, answer).content, "") << answer;
  }
  EXPECT_EQ(seen(CallForm::llama3, call + "; " + call + "\n" + call).calls.size(), 3U);
  EXPECT_EQ(seen(CallForm::llama3, "Like " + call).content, "Like " + call);
  const Pieces tagged = seen(CallForm::llama3, "So: <|python_tag|>" + call);
  EXPECT_EQ(tagged.content, "So:");
  EXPECT_EQ(tagged.calls, expected);
}

TEST(AnswerParser, finds_calls_of_deepseek) {
  const std::string long_call =
      "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\": "
      "\"```\"}\n```<｜tool▁call▁end｜>";
  const std::string short_call =
      "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": \"```\"}<｜tool▁call▁end｜>";
  const std::pair<std::string, std::string> expected{"f", R"({"a": "```"})"};
  for (const CallForm form : {CallForm::deepseek_v3, CallForm::deepseek_v31}) {
    for (const std::string& call : {long_call, short_call}) {
      std::string answer = "I look. <｜tool▁calls▁begin｜>";
      answer.append(call).append("\n").append(call).append("<｜tool▁calls▁end｜>");
      const Pieces row = seen(form, answer);
      EXPECT_EQ(row.content, "I look.");
      EXPECT_EQ(row.calls, (Calls{expected, expected}));
      EXPECT_EQ(seen(form, call).calls, Calls{expected});
    }
  }
}

TEST(AnswerParser, finds_calls_of_mistral) {
  const Pieces row = seen(
      CallForm::mistral, R"([TOOL_CALLS][{"name": "f", "arguments": {"a": 1}, "id": "012345678"}, )"
                         R"({"name": "get_weather", "arguments": {}}])");
  EXPECT_EQ(row.calls, (Calls{{"f", R"({"a": 1})"}, {"get_weather", "{}"}}));
  EXPECT_EQ(row.content, "");
}

TEST(AnswerParser, keeps_reasoning_apart) {
  const Pieces thought = seen(CallForm::hermes, "<think>\nHm, <b>.\n</think>\n\nYes.");
  EXPECT_EQ(thought.reasoning, "Hm, <b>.");
  EXPECT_EQ(thought.content, "Yes.");
  EXPECT_EQ(seen(CallForm::hermes, "<think>\n\n</think>\n\nYes.").reasoning, "");
  EXPECT_EQ(seen(CallForm::hermes, "A <think>b</think>").content, "A <think>b</think>");

  AnswerRules begun = rules(CallForm::hermes);
  begun.in_reasoning = true;
  EXPECT_EQ(seen(begun, "\nHm.\n</think>\nYes.").reasoning, "Hm.");
  EXPECT_EQ(seen(begun, "Cut off ").reasoning, "Cut off ");
  const Pieces forgot =
      seen(begun, "I call.<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call></think>Yes.");
  EXPECT_EQ(forgot.reasoning, "I call.");
  EXPECT_EQ(forgot.calls.size(), 1U);

  AnswerRules plain = rules(CallForm::hermes);
  plain.form.reasons = false;
  EXPECT_EQ(seen(plain, "<think>a</think>").content, "<think>a</think>");
}

TEST(AnswerParser, leaves_what_is_no_call_in_the_text) {
  for (const char* const answer : {
           "<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>",
           "<tool_call>\n{\"arguments\": {}, \"name\": \"f\"}\n</tool_call>",
           "<tool_call>\n{\"name\": \"f\", \"arguments\": \"\"}\n</tool_call>",
           "<tool_call><tool_call>",
           "<tool_call>\n{\"name\": \"f\", \"argu",
           "{\"name\": \"f\", \"arguments\": {}}",
           " <tool_cal l>",
           "</tool_call>",
       }) {
    const Pieces pieces = seen(CallForm::hermes, answer);
    EXPECT_EQ(pieces.content, answer);
    EXPECT_TRUE(pieces.calls.empty());
  }
  const std::string json = R"({"city": "Oslo", "warm": false})";
  EXPECT_EQ(seen(CallForm::llama3, json).content, json);
  AnswerRules none = rules(CallForm::hermes);
  none.tools.clear();
  const std::string call = "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>";
  EXPECT_EQ(seen(none, call).content, call);
  AnswerRules one = rules(CallForm::hermes);
  one.calls_max = 1;
  EXPECT_EQ(seen(one, call + call).content, call);
  const std::string blanks(AnswerParser::kSpellingBytesMax, ' ');
  EXPECT_EQ(seen(CallForm::hermes, "<tool_call>" + blanks + "{\"name\"").calls.size(), 0U);
}

TEST(AnswerParser, gives_arguments_out_as_they_come) {
  AnswerParser parser(rules(CallForm::hermes));
  using Kind = AnswerEvent::Kind;
  EXPECT_TRUE(parser.push("<tool_call>\n{\"name\": \"f\", \"arguments\": ").empty());
  const std::vector<AnswerEvent> begun = parser.push("{\"a\"");
  ASSERT_EQ(begun.size(), 2U);
  EXPECT_EQ(begun[0].kind, Kind::call);
  EXPECT_EQ(begun[0].tool, "f");
  EXPECT_EQ(begun[1], (AnswerEvent{Kind::arguments, "{\"a\""}));
  EXPECT_TRUE(parser.in_arguments());
  EXPECT_EQ(parser.push(": 1}}"), (std::vector<AnswerEvent>{{Kind::arguments, ": 1}"}}));
  EXPECT_FALSE(parser.in_arguments());
  EXPECT_EQ(parser.finish(), (std::vector<AnswerEvent>{{Kind::mark, "}"}}));
}

TEST(AnswerForm, is_what_the_template_shows) {
  const auto calls = [](const char* text) { return answer_form_of(text).calls; };
  EXPECT_EQ(calls("{{ '<tool_call>' }}"), CallForm::hermes);
  EXPECT_EQ(calls("{{ '\"parameters\": ' }}"), CallForm::llama3);
  EXPECT_EQ(calls("<｜tool▁call▁begin｜>```json"), CallForm::deepseek_v3);
  EXPECT_EQ(calls("<｜tool▁call▁begin｜>"), CallForm::deepseek_v31);
  EXPECT_EQ(calls("[TOOL_CALLS]"), CallForm::mistral);
  EXPECT_EQ(calls("{{ messages }}"), CallForm::hermes);
  EXPECT_FALSE(answer_form_of("{{ messages }} builtin_tools").prints_tools);
  EXPECT_TRUE(answer_form_of("{% if tools %}").prints_tools);
  const AnswerForm form = answer_form_of("<think> </think>");
  EXPECT_TRUE(form.reasons);
  EXPECT_TRUE(begins_in_reasoning(form, "user\n<think>\n"));
  EXPECT_FALSE(begins_in_reasoning(form, "user\n<think>\n\n</think>\n"));
  EXPECT_FALSE(begins_in_reasoning({}, "<think>"));
}

/// What the template makes of messages.
std::string rendered_by(const ChatTemplate& chat, const Json& messages, bool generation_prompt) {
  Conversation conversation{.messages = messages};
  conversation.add_generation_prompt = generation_prompt;
  conversation.bos_token = conversation.eos_token = "";
  const auto text = chat.render(conversation, {});
  EXPECT_TRUE(text.has_value()) << to_string(text.error());
  return text.value_or("");
}

TEST(AnswerForm, of_a_model_reads_the_calls_that_its_template_prints) {
  if (!std::filesystem::exists(FORGE_CHAT_TEMPLATES)) {
    GTEST_SKIP() << "no folder " << FORGE_CHAT_TEMPLATES;
  }
  const Json arguments = {{"city", "Oslo {"}, {"days", {1, 2}}};
  const Json call = {{"id", "012345678"},
                     {"type", "function"},
                     {"function", {{"name", "f"}, {"arguments", arguments}}}};
  Json messages = {{{"role", "user"}, {"content", "Hello"}}};
  for (const char* const name :
       {"Qwen-Qwen2.5-7B-Instruct", "Qwen-Qwen3-0.6B", "meta-llama-Llama-3.1-8B-Instruct",
        "meta-llama-Llama-3.2-3B-Instruct", "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B",
        "deepseek-ai-DeepSeek-V3.1", "mistralai-Mistral-Nemo-Instruct-2407"}) {
    const std::string text = text_of(FORGE_CHAT_TEMPLATES "/" + std::string(name) + ".jinja");
    const ChatTemplate chat = ChatTemplate::parse(text).value();
    const std::string asked = rendered_by(chat, messages, false);
    const std::string prompt = rendered_by(chat, messages, true).substr(asked.size());
    Json with_call = messages;
    with_call.push_back({{"role", "assistant"}, {"tool_calls", {call}}});
    // Templates differ in whether they look for a text that is null or a text that is not there.
    if (name == std::string_view("Qwen-Qwen3-0.6B")) with_call.back()["content"] = "";
    if (name == std::string_view("deepseek-ai-DeepSeek-R1-Distill-Qwen-32B")) {
      with_call.back()["content"] = nullptr;
    }
    std::string answer = rendered_by(chat, with_call, false).substr(asked.size());
    if (answer.starts_with(prompt)) answer = answer.substr(prompt.size());
    const AnswerRules rules{.form = answer_form_of(text), .tools = {"f"}};
    const Pieces pieces = seen(rules, answer);
    ASSERT_EQ(pieces.calls.size(), 1U) << name << ": " << answer;
    EXPECT_EQ(Json::parse(pieces.calls[0].second), arguments) << name;
  }
}

// ---- Random answers -----------------------------------------------------------------------------

constexpr CallForm kForms[] = {CallForm::hermes, CallForm::llama3, CallForm::deepseek_v3,
                               CallForm::deepseek_v31, CallForm::mistral};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}

  std::size_t below(std::size_t count) { return engine_() % count; }
  const std::string& of(const std::vector<std::string>& texts) {
    return texts[below(texts.size())];
  }

  /// A text from 1 to 4 of these.
  std::string some_of(const std::vector<std::string>& texts) {
    std::string text = of(texts);
    for (std::size_t i = below(4); i > 0; --i) text += of(texts);
    return text;
  }

  /// Pieces that together are `text`, no character split.
  std::vector<std::string> cut(const std::string& text) {
    std::vector<std::string> pieces(1);
    for (const char byte : text) {
      const bool begins = (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
      if (begins && below(3) == 0) pieces.emplace_back();
      pieces.back() += byte;
    }
    return pieces;
  }

 private:
  std::mt19937 engine_;
};

TEST(AnswerParserRandom, answers_of_each_form_come_apart_as_they_were_made) {
  const std::vector<std::string> words{"Yes.", "a < b", "<tool", "｜", "[", "x{y}", "</", "\"q\""};
  const std::vector<std::string> objects{R"({})", R"({"a": "}\"{", "b": [[], {}]})",
                                         R"({"é": "<｜tool▁sep｜></tool_call>", "n": -1.5e3})"};
  for (unsigned seed = 0; seed < 400; ++seed) {
    Random random(seed);
    const CallForm form = kForms[random.below(std::size(kForms))];
    Pieces expected;
    std::string answer;
    if (random.below(2) == 0) {
      expected.reasoning = "Hm " + random.some_of(words);
      answer += "<think>\n" + expected.reasoning + "\n</think>\n\n";
    }
    const bool is_content = form != CallForm::llama3 && random.below(2) == 0;
    if (is_content) answer += expected.content = "So " + random.some_of(words) + " so";
    const std::size_t calls = form == CallForm::hermes ? random.below(4) : random.below(2);
    for (std::size_t i = 0; i < calls; ++i) {
      const CallSpelling call = spelling_of(form, "get_weather");
      const CallsSpelling row = row_of(form);
      expected.calls.emplace_back("get_weather", random.of(objects));
      answer +=
          "\n" + row.open + call.before + expected.calls.back().second + call.after + row.close;
    }
    const Pieces whole = seen(form, answer);
    EXPECT_EQ(whole.content, expected.content) << answer;
    EXPECT_EQ(whole.reasoning, expected.reasoning) << answer;
    EXPECT_EQ(whole.calls, expected.calls) << answer;
  }
}

TEST(AnswerParserRandom, nothing_is_lost_and_no_cut_matters) {
  const std::vector<std::string> parts{"<think>",
                                       "</think>",
                                       "<tool_call>",
                                       "</tool_call>",
                                       "<|python_tag|>",
                                       "[TOOL_CALLS]",
                                       "[",
                                       "]",
                                       "<｜tool▁calls▁begin｜>",
                                       "<｜tool▁call▁begin｜>",
                                       "<｜tool▁sep｜>",
                                       "<｜tool▁call▁end｜>",
                                       "<｜tool▁calls▁end｜>",
                                       "function",
                                       "```json\n",
                                       "```",
                                       "\n",
                                       " ",
                                       "{",
                                       "}",
                                       ",",
                                       ";",
                                       "é",
                                       "a",
                                       R"({"name": "f", "arguments": )",
                                       R"({"name": "f", "parameters": )",
                                       R"({"x": "}"})",
                                       R"("name": "f")",
                                       "f",
                                       "<",
                                       "<tool_",
                                       "｜"};
  for (unsigned seed = 0; seed < 4000; ++seed) {
    Random random(seed);
    AnswerRules some = rules(kForms[random.below(std::size(kForms))]);
    some.in_reasoning = random.below(2) == 0;
    if (random.below(4) == 0) some.calls_max = 1;
    std::string answer;
    for (std::size_t i = random.below(20); i > 0; --i) answer += random.of(parts);
    const Pieces whole = seen(some, answer);
    const Pieces cut = testing::parse_in_pieces(some, random.cut(answer));
    EXPECT_EQ(cut, whole) << "seed " << seed << ": " << answer;
    EXPECT_EQ(whole.all, answer) << "seed " << seed;
  }
}

}  // namespace
}  // namespace forge::chat
