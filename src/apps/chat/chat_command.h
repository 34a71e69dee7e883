// ChatCommand: what a line that begins with a slash asks the program to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "user_input.h"

namespace forge::apps {

enum class ChatAction : std::uint8_t { help, system, save, stats, reset, quit };

struct ChatCommand {
  ChatAction action = ChatAction::help;
  std::optional<std::string> text;  ///< what stands beside it

  friend bool operator==(const ChatCommand&, const ChatCommand&) = default;
};

/// Errors: there is no such command; it takes no text, or needs one. Requires: `input` has a
/// command.
tl::expected<ChatCommand, std::string> parse_chat_command(const UserInput& input);

/// What /help prints.
std::string chat_help();

}  // namespace forge::apps
