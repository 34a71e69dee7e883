// forge-chat as a user runs it: in a terminal, and in a pipe.
#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "apps/model_programs.h"
#include "apps/server_process.h"
#include "apps/terminal_process.h"

namespace forge::testing {
namespace {

using nlohmann::json;

constexpr const char* kModel = "forge-tiny:seed=1";
constexpr const char* kPrompt = ">>> ";

class ChatInTerminal : public ProgramTest {
 protected:
  static std::vector<std::string> command(const std::vector<std::string>& flags = {}) {
    std::vector<std::string> words = {FORGE_CHAT, kModel};
    words.insert(words.end(), flags.begin(), flags.end());
    return words;
  }

  /// What it says to a line, up to the next prompt.
  static std::string told(TerminalProcess& chat, const std::string& line) {
    chat.type(line + "\n");
    return chat.until(kPrompt);
  }

  /// The messages of the conversation, as /save writes them.
  json saved(TerminalProcess& chat, const std::string& name) const {
    EXPECT_EQ(told(chat, "/save " + path(name)).find("("), 0U);
    return json::parse(read_file(path(name)));
  }
};

TEST_F(ChatInTerminal, each_answer_is_that_of_the_api_to_all_that_was_said) {
  TerminalProcess chat(command({"--max-tokens", "24", "--system", "Be brief."}));
  EXPECT_EQ(chat.until(kPrompt), "forge-tiny: /help shows the commands, Ctrl-D ends.\n");
  told(chat, "Hello!");
  told(chat, "And who are you?");
  json messages = saved(chat, "talk.json");
  ASSERT_EQ(messages.size(), 5U);
  EXPECT_EQ(messages[0], (json{{"role", "system"}, {"content", "Be brief."}}));
  EXPECT_EQ(messages[3], (json{{"role", "user"}, {"content", "And who are you?"}}));

  const ServerProcess server(std::vector<std::string>{"--model", kModel});
  for (const std::size_t answer : {2U, 4U}) {
    const json asked(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(answer));
    const json response = test::HttpClient(server.port())
                              .post("/v1/chat/completions", {{"model", "forge-tiny"},
                                                             {"messages", asked},
                                                             {"max_tokens", 24},
                                                             {"temperature", 0}})
                              .json();
    EXPECT_EQ(response["choices"][0]["message"]["content"], messages[answer]["content"]) << answer;
  }
}

TEST_F(ChatInTerminal, the_same_conversation_has_the_same_answers_with_drafts_and_without_a_cache) {
  const std::vector<std::string> drawn = {"--max-tokens", "40",  "--temperature", "0.9",
                                          "--top-p",      "0.9", "--seed",        "7"};
  std::vector<json> talks;
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--speculative", "3"}, {"--prefix-cache", "none"}}) {
    std::vector<std::string> flags = drawn;
    flags.insert(flags.end(), more.begin(), more.end());
    TerminalProcess chat(command(flags));
    chat.until(kPrompt);
    told(chat, "Hello!");
    told(chat, "Go on.");
    talks.push_back(saved(chat, "talk" + std::to_string(talks.size())));
  }
  ASSERT_EQ(talks[0].size(), 4U);
  EXPECT_EQ(talks[1], talks[0]);
  EXPECT_EQ(talks[2], talks[0]);
}

TEST_F(ChatInTerminal, what_was_said_before_is_not_run_again) {
  TerminalProcess chat(command({"--max-tokens", "64", "--speculative", "2"}));
  chat.until(kPrompt);
  told(chat, "Hello!");
  EXPECT_NE(told(chat, "/stats").find("  of them cached                   0           0\n"),
            std::string::npos);
  told(chat, "Go on.");
  chat.type("/stats\n");
  chat.until("  of them cached");
  EXPECT_GE(std::stoi(chat.until("\n")), 64);  // the first answer and the question before it
  EXPECT_NE(chat.until(kPrompt).find("drafts accepted"), std::string::npos);
}

TEST_F(ChatInTerminal, ctrl_c_stops_the_answer_and_not_the_program) {
  TerminalProcess chat(command({"--num-blocks", "40000"}));  // an answer of hours
  chat.until(kPrompt);
  chat.type("Hello!\n");
  ASSERT_TRUE(chat.shows_something());
  chat.type(kCtrlC);
  const std::string screen = chat.until("\n(stopped)\n\n>>> ");
  const json messages = saved(chat, "talk.json");
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[1]["content"], screen);  // what was said by then

  told(chat, "/reset");  // what follows half an answer may be short
  chat.type("Hello!\n");
  ASSERT_TRUE(chat.shows_something());
  chat.type(kCtrlC);
  chat.until("\n(stopped)\n\n>>> ");
  EXPECT_EQ(told(chat, "/save " + path("talk.json")),
            "(2 messages are in '" + path("talk.json") + "'.)\n");
  chat.type("/quit\n");
  EXPECT_EQ(chat.wait(), 0);
}

TEST_F(ChatInTerminal, a_second_ctrl_c_at_the_prompt_ends_it) {
  TerminalProcess chat(command());
  chat.until(kPrompt);
  chat.type(kCtrlC);
  chat.until("(Ctrl-C again, or Ctrl-D, ends.)\n>>> ");
  told(chat, "/stats");  // so the next one is the first again
  chat.type(kCtrlC);
  chat.until("(Ctrl-C again, or Ctrl-D, ends.)\n>>> ");
  chat.type(kCtrlC);
  EXPECT_EQ(chat.until("<nothing>"), "\n<the end>");
  EXPECT_EQ(chat.wait(), 0);
}

TEST_F(ChatInTerminal, ctrl_d_ends_it) {
  TerminalProcess chat(command());
  chat.until(kPrompt);
  chat.type(kCtrlD);
  EXPECT_EQ(chat.wait(), 0);
}

TEST_F(ChatInTerminal, a_system_message_is_set_shown_and_taken_away) {
  TerminalProcess chat(command({"--max-tokens", "8"}));
  chat.until(kPrompt);
  EXPECT_EQ(told(chat, "/system"), "(There is no system message.)\n");
  EXPECT_EQ(told(chat, "/system   Speak like a clerk. "), "");
  EXPECT_EQ(told(chat, "/system"), "Speak like a clerk.\n");
  told(chat, "Hello!");
  EXPECT_EQ(told(chat, "/reset"), "");
  EXPECT_EQ(saved(chat, "reset.json"),
            (json{{{"role", "system"}, {"content", "Speak like a clerk."}}}));
  EXPECT_EQ(told(chat, R"(/system """""")"), "");
  EXPECT_EQ(saved(chat, "nothing.json"), json::array());
}

TEST_F(ChatInTerminal, a_text_of_several_lines_is_one_question) {
  TerminalProcess chat(command({"--max-tokens", "8"}));
  chat.until(kPrompt);
  chat.type("\"\"\"\n");
  EXPECT_EQ(chat.until("... "), "");
  chat.type("/usr/bin\n");
  EXPECT_EQ(chat.until("... "), "");
  told(chat, "  what is it? \"\"\"");
  EXPECT_EQ(saved(chat, "talk.json")[0]["content"], "/usr/bin\n  what is it? ");
  chat.type("\"\"\"lost\n");
  chat.until("... ");
  chat.type(kCtrlC);
  chat.until(kPrompt);
  told(chat, "kept");
  EXPECT_EQ(saved(chat, "two.json")[2]["content"], "kept");
}

TEST_F(ChatInTerminal, what_cannot_be_done_is_said_and_nothing_is_lost) {
  std::ofstream(path("there")) << "mine";
  TerminalProcess chat(command({"--num-blocks", "8", "--max-tokens", "8"}));  // 128 tokens
  chat.until(kPrompt);
  told(chat, "Hello!");
  EXPECT_NE(told(chat, "/nope").find("there is no command '/nope'"), std::string::npos);
  EXPECT_NE(told(chat, "/save").find("it is /save FILE"), std::string::npos);
  EXPECT_NE(told(chat, "/quit now").find("/quit takes nothing beside it"), std::string::npos);
  EXPECT_NE(told(chat, "/save " + path("there")).find("exists; accepted is a new file"),
            std::string::npos);
  EXPECT_EQ(read_file(path("there")), "mine");
  EXPECT_NE(told(chat, std::string(100, 'x')).find("accepted: up to 127"), std::string::npos);
  EXPECT_NE(told(chat, std::string(5000, 'x')).find("4095 bytes of a line"), std::string::npos);
  EXPECT_EQ(saved(chat, "talk.json").size(), 2U);
}

TEST_F(ChatInTerminal, what_it_saves_can_be_rendered) {
  TerminalProcess chat(command({"--max-tokens", "8"}));
  chat.until(kPrompt);
  told(chat, "Hello!");
  const json messages = saved(chat, "talk.json");
  const Outcome rendered = run(FORGE_MODEL " render " FORGE_SOURCE_DIR
                                           "/examples/conversations/plain.jinja --messages " +
                               path("talk.json"));
  EXPECT_EQ(rendered.status, 0);
  EXPECT_TRUE(has(rendered, "USER: Hello!\n")) << rendered.output;
  EXPECT_TRUE(has(rendered, "ASSISTANT: " + messages[1]["content"].get<std::string>()));
}

class ChatInPipe : public ProgramTest {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  static Outcome chat(const std::string& arguments) {
    return run(std::string(FORGE_CHAT) + ' ' + arguments);
  }
};

TEST_F(ChatInPipe, one_answer_is_the_text_alone) {
  const Outcome given = chat("forge-tiny:seed=1 --max-tokens 12 --prompt 'Hello!' < /dev/null");
  EXPECT_EQ(given.status, 0);
  EXPECT_EQ(std::count(given.output.begin(), given.output.end(), '\n'), 1);
  EXPECT_EQ(given.output.back(), '\n');
  EXPECT_GT(given.output.size(), 6U);
  const Outcome read =
      run("printf 'Hello!' | " FORGE_CHAT " --model forge-tiny:seed=1 --max-tokens 12");
  EXPECT_EQ(read.output, given.output);
}

TEST_F(ChatInPipe, a_prompt_that_is_given_leaves_the_standard_input_alone) {
  const Outcome outcome = run("printf 'one\\ntwo\\n' | while read line; do " FORGE_CHAT
                              " forge-tiny:seed=1 --max-tokens 2 --prompt \"$line\"; done | wc -l");
  EXPECT_EQ(outcome.output, "2\n");
}

TEST_F(ChatInPipe, an_empty_prompt_is_refused) {
  for (const std::string empty : {"--prompt ''", "--prompt ' '", "< /dev/null"}) {
    const Outcome outcome = chat("forge-tiny:seed=1 " + empty);
    EXPECT_EQ(outcome.status, 2) << empty;
    EXPECT_TRUE(has(outcome, "forge-chat: the prompt is empty, accepted: a text"));
  }
}

TEST_F(ChatInPipe, a_model_without_a_template_says_so_once) {
  const Outcome outcome = chat(golden("tales") + " --prompt 'The dog' --max-tokens 4");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(has(outcome,
                  "forge-chat: 'tales' has no chat template: its messages are spelt as "
                  "ChatML"));
  const std::string own = file("own.jinja", "{{ messages[0].content }}");
  const Outcome with_own =
      chat(golden("tales") + " --prompt 'The dog' --max-tokens 4 --chat-template " + own);
  EXPECT_EQ(with_own.status, 0);
  EXPECT_FALSE(has(with_own, "forge-chat: ")) << with_own.output;
}

TEST_F(ChatInPipe, an_answer_ends_as_the_template_ends_it_though_no_token_says_so) {
  const std::string sentences = file("sentences.jinja",
                                     "{% for m in messages %}{{ m.content }}"
                                     "{{ '.' if m.role == 'assistant' else ' ' }}{% endfor %}");
  const std::string all = file("all.jinja", "{{ messages[0].content }} ");
  const std::string asked = golden("tales") + " --prompt 'The dog' --max-tokens 60";
  const Outcome whole = chat(asked + " --chat-template " + all);
  const Outcome ended = chat(asked + " --chat-template " + sentences);
  ASSERT_NE(whole.output.find('.'), std::string::npos) << whole.output;
  EXPECT_EQ(ended.output, whole.output.substr(0, whole.output.find('.')) + "\n");

  const ServerProcess server({"--model", golden("tales"), "--chat-template", sentences});
  const json choice =
      test::HttpClient(server.port())
          .post("/v1/chat/completions", {{"model", "tales"},
                                         {"messages", {{{"role", "user"}, {"content", "The dog"}}}},
                                         {"max_tokens", 60},
                                         {"temperature", 0}})
          .json()["choices"][0];
  EXPECT_EQ(choice["message"]["content"].get<std::string>() + "\n", ended.output);
  EXPECT_EQ(choice["finish_reason"], "stop");
}

TEST_F(ChatInPipe, what_cannot_be_used_is_refused_by_name) {
  for (const auto& [arguments, status, expected] :
       {std::tuple{"/nowhere --prompt x", 1, "forge-chat: --model: /nowhere"},
        {"forge-tiny --model forge-tiny --prompt x", 2, "MODEL"},
        {"--temperature 3 --prompt x", 2, "--temperature"},
        {"--temperature 1e-30 --prompt x", 2, "--temperature"},
        {"--temperature nan --prompt x", 2, "--temperature"},
        {"--top-p 1.5 --prompt x", 2, "--top-p"},
        {"--max-tokens 0 --prompt x", 2, "--max-tokens"},
        {"--target null --prompt x", 2, "--target"},
        {"--sim-checked --prompt x", 2, "--sim-checked does not apply to --target cpu"},
        {"--chat-template /nowhere --prompt x", 1, "forge-chat: --chat-template: "}}) {
    const Outcome outcome = chat(arguments);
    EXPECT_EQ(outcome.status, status) << arguments;
    EXPECT_TRUE(has(outcome, expected)) << outcome.output;
  }
  const std::string refuses = file("refuses.jinja", "{{ raise_exception('Not today.') }}");
  const Outcome refused = chat("--prompt x --chat-template " + refuses);
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(has(refused, "the chat template refuses the conversation: Not today.\n"));
  EXPECT_EQ(run(FORGE_CHAT " --prompt x > /dev/full").status, 1);
}

}  // namespace
}  // namespace forge::testing
