// The parts of forge-chat that need no model.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "chat_command.h"
#include "chat_statistics.h"
#include "dialogue.h"

namespace forge::apps {
namespace {

using Texts = std::vector<std::string>;

/// "command|text" of each input that the lines complete; "..." where the last one goes on.
Texts inputs(const Texts& lines) {
  UserInputParser parser;
  Texts inputs;
  for (const std::string& line : lines) {
    if (const auto input = parser.take(line)) {
      inputs.push_back(input->command + "|" + input->text.value_or("none"));
    }
  }
  if (parser.goes_on()) inputs.emplace_back("...");
  return inputs;
}

TEST(UserInput, is_a_line_without_the_blanks_around_it) {
  EXPECT_EQ(inputs({" Hello, you! \r", "", "  "}), (Texts{"|Hello, you!", "|none", "|none"}));
}

TEST(UserInput, has_a_command_if_it_begins_with_a_slash) {
  EXPECT_EQ(inputs({"/help", " /save  a b.json ", "/"}),
            (Texts{"/help|none", "/save|a b.json", "/|none"}));
}

TEST(UserInput, goes_over_lines_between_quotes) {
  EXPECT_EQ(inputs({R"("""one""")"}), Texts{"|one"});
  EXPECT_EQ(inputs({R"(""")", " one", "", R"(two """)", "three"}),
            (Texts{"| one\n\ntwo ", "|three"}));
  EXPECT_EQ(inputs({R"("""one)", "two", R"(""")"}), Texts{"|one\ntwo"});
  EXPECT_EQ(inputs({R"(""")", "/quit", R"(""")"}), Texts{"|/quit"});
  EXPECT_EQ(inputs({R"(/system """)", "a", "b", R"(""")"}), Texts{"/system|a\nb"});
  EXPECT_EQ(inputs({R"(/system """""")"}), Texts{"/system|"});
  EXPECT_EQ(inputs({R"(""")", "one"}), Texts{"..."});
}

TEST(UserInput, may_have_quotes_within) {
  EXPECT_EQ(inputs({R"(say """ please)"}), Texts{R"(|say """ please)"});
}

TEST(ChatCommand, is_one_of_the_table) {
  const auto parsed = [](const std::string& command, std::optional<std::string> text) {
    return parse_chat_command({command, std::move(text)});
  };
  EXPECT_EQ(parsed("/save", "x.json"), (ChatCommand{ChatAction::save, "x.json"}));
  EXPECT_EQ(parsed("/system", std::nullopt), (ChatCommand{ChatAction::system, std::nullopt}));
  EXPECT_EQ(parsed("/bye", std::nullopt), (ChatCommand{ChatAction::quit, std::nullopt}));
  EXPECT_EQ(parsed("/stats", "all").error(), "/stats takes nothing beside it");
  EXPECT_EQ(parsed("/save", std::nullopt).error(), "it is /save FILE");
  EXPECT_TRUE(parsed("/sav", std::nullopt).error().starts_with("there is no command '/sav'"));
}

TEST(ChatCommand, the_page_has_the_help) {
  std::ifstream page(FORGE_SOURCE_DIR "/book/chat.md");
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  std::istringstream help(chat_help());
  for (std::string line; std::getline(help, line) && !line.empty();) {
    const std::size_t gap = line.find("  ");
    const std::size_t what = line.find_first_not_of(' ', gap);
    const std::string row = "| `" + line.substr(0, gap) + "` | " + line.substr(what) + " |";
    EXPECT_NE(text.find("\n" + row + "\n"), std::string::npos) << row;
  }
}

TEST(Dialogue, is_a_list_of_messages) {
  Dialogue dialogue;
  dialogue.ask("Hello");
  dialogue.answer("Yes?");
  dialogue.ask("lost");
  dialogue.take_back();
  dialogue.set_system("Be brief.");
  EXPECT_EQ(dialogue.messages().dump(),
            R"([{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"},)"
            R"({"role":"assistant","content":"Yes?"}])");
  dialogue.reset();
  dialogue.ask("\xff?");  // no UTF-8
  EXPECT_EQ(dialogue.messages()[1]["content"], "\xef\xbf\xbd?");
}

TEST(ChatStatistics, are_a_column_for_the_last_answer_and_one_for_all) {
  const ChatStatistics last{.answers = 1,
                            .prompt_tokens = 30,
                            .cached_tokens = 10,
                            .answer_tokens = 101,
                            .first_tokens = 1,
                            .prompt_time = ChatStatistics::Duration(0.5),
                            .answer_time = ChatStatistics::Duration(2),
                            .speculation = {.proposed = 8, .accepted = 5}};
  ChatStatistics all = last;
  all += ChatStatistics{.answers = 1, .prompt_tokens = 10};
  EXPECT_EQ(statistics_table(last, all),
            "                         last answer       all 2\n"
            "prompt tokens                     30          40\n"
            "  of them cached                  10          10\n"
            "answer tokens                    101         101\n"
            "prompt tokens/s                   40          60\n"
            "answer tokens/s                   50          50\n"
            "drafts accepted                62.5%       62.5%\n");
  EXPECT_EQ(statistics_table({}, {}).find('%'), std::string::npos);
}

}  // namespace
}  // namespace forge::apps
