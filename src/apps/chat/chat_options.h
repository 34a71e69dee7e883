// ChatOptions: what the command line of forge-chat says.
#pragma once

#include <optional>
#include <string>

#include "chat_model.h"
#include "forge/runtime/target_options.h"

namespace CLI {  // NOLINT(readability-identifier-naming): its own
class App;
}

namespace forge::apps {

struct ChatOptions {
  ChatOptions();

  runtime::TargetOptions target;
  AnswerOptions answers;
  std::string system;
  std::optional<std::string> prompt;  ///< one question, in place of a conversation
};

/// `options` must live until the command line has been parsed.
void add_options(CLI::App& app, ChatOptions& options);

}  // namespace forge::apps
