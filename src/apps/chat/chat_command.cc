#include "chat_command.h"

#include <algorithm>
#include <array>
#include <iomanip>
#include <sstream>
#include <string_view>

namespace forge::apps {
namespace {

enum class Text : std::uint8_t { none, optional, required };

struct CommandEntry {
  std::string_view name;
  ChatAction action;
  Text text;
  std::string_view usage = {};
  std::string_view what = {};  ///< empty: another name of one above
};

constexpr std::array kCommands = {
    CommandEntry{"/system", ChatAction::system, Text::optional, "/system [TEXT]",
                 "Tell the model this before everything else (\"\"\"\"\"\": nothing), or show it"},
    CommandEntry{"/save", ChatAction::save, Text::required, "/save FILE",
                 "Write the messages into a new file, as JSON"},
    CommandEntry{"/stats", ChatAction::stats, Text::none, "/stats",
                 "Show tokens, their speed, and how many drafts were accepted"},
    CommandEntry{"/reset", ChatAction::reset, Text::none, "/reset",
                 "Forget the conversation, but not the system message"},
    CommandEntry{"/help", ChatAction::help, Text::none, "/help", "Show this"},
    CommandEntry{"/quit", ChatAction::quit, Text::none, "/quit", "End, as Ctrl-D does"},
    CommandEntry{"/clear", ChatAction::reset, Text::none},
    CommandEntry{"/?", ChatAction::help, Text::none},
    CommandEntry{"/exit", ChatAction::quit, Text::none},
    CommandEntry{"/bye", ChatAction::quit, Text::none},
};

}  // namespace

tl::expected<ChatCommand, std::string> parse_chat_command(const UserInput& input) {
  const auto found = std::ranges::find(kCommands, input.command, &CommandEntry::name);
  if (found == kCommands.end()) {
    return tl::unexpected("there is no command '" + input.command +
                          "'; /help shows those that there are. A text in \"\"\" may begin with a "
                          "slash");
  }
  if (found->text == Text::none && input.text) {
    return tl::unexpected(input.command + " takes nothing beside it");
  }
  if (found->text == Text::required && !input.text) {
    return tl::unexpected("it is " + std::string(found->usage));
  }
  return ChatCommand{found->action, input.text};
}

std::string chat_help() {
  constexpr int kUsageWidth = 18;
  std::ostringstream text;
  for (const CommandEntry& command : kCommands) {
    if (command.what.empty()) continue;
    text << std::left << std::setw(kUsageWidth) << command.usage << command.what << '\n';
  }
  text << "\nA text of several lines begins and ends with \"\"\". Ctrl-C stops an answer; what was "
          "said "
          "by\nthen stays.\n";
  return text.str();
}

}  // namespace forge::apps
