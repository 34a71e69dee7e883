#include "chat_loop.h"

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <utility>

namespace forge::apps {
namespace {

void complain(const std::string& message) { std::cerr << "forge-chat: " + message + '\n'; }

}  // namespace

ChatLoop::ChatLoop(ChatModel& model, Dialogue dialogue)
    : model_(model),
      dialogue_(std::move(dialogue)),
      for_people_(isatty(STDOUT_FILENO) != 0),
      lines_(ctrl_c_) {}

void ChatLoop::remark(const std::string& text) const {
  if (for_people_) std::cout << text << std::flush;
}

void ChatLoop::run() {
  remark(model_.name() + ": /help shows the commands, Ctrl-D ends.\n");
  bool was_warned = false;
  while (std::cout) {
    remark(input_.goes_on() ? "... " : ">>> ");
    const Typed typed = lines_.read();
    switch (typed.kind) {
      case TypedKind::end:
        return remark("\n");
      case TypedKind::ctrl_c:
        input_.drop();
        if (was_warned) return remark("\n");
        remark("\n(Ctrl-C again, or Ctrl-D, ends.)\n");
        break;
      case TypedKind::cut:
        input_.drop();
        complain("a terminal passes on " + std::to_string(LineReader::kLineBytesMax) +
                 " bytes of a line: this one is not taken; a text in \"\"\" may have many lines");
        break;
      case TypedKind::line:
        if (!take_line(typed.line)) return;
        break;
    }
    was_warned = typed.kind == TypedKind::ctrl_c;
  }
}

/// False when the user ends the conversation.
bool ChatLoop::take_line(const std::string& line) {
  const std::optional<UserInput> input = input_.take(line);
  if (!input) return true;
  if (input->command.empty()) {
    if (input->text && !input->text->empty()) answer(*input->text);
    return true;
  }
  const auto command = parse_chat_command(*input);
  if (command) return obey(*command);
  complain(command.error());
  return true;
}

bool ChatLoop::obey(const ChatCommand& command) {
  switch (command.action) {
    case ChatAction::help:
      std::cout << chat_help();
      break;
    case ChatAction::system:
      set_or_show_system(command.text);
      break;
    case ChatAction::save:
      save_to(*command.text);
      break;
    case ChatAction::stats:
      std::cout << statistics_table(last_, all_);
      break;
    case ChatAction::reset:
      dialogue_.reset();
      break;
    case ChatAction::quit:
      return false;
  }
  std::cout << std::flush;
  return true;
}

void ChatLoop::set_or_show_system(const std::optional<std::string>& text) {
  if (text) {
    dialogue_.set_system(*text);
  } else if (dialogue_.system().empty()) {
    remark("(There is no system message.)\n");
  } else {
    std::cout << dialogue_.system() << '\n';
  }
}

void ChatLoop::save_to(const std::string& path) {
  std::error_code error;
  if (path != saved_to_ && std::filesystem::exists(path, error)) {
    return complain("/save: '" + path + "' exists; accepted is a new file");
  }
  if (const auto saved = save(dialogue_, path); !saved) {
    return complain("/save: " + saved.error());
  }
  saved_to_ = path;
  remark("(" + std::to_string(dialogue_.messages().size()) + " messages are in '" + path + "'.)\n");
}

void ChatLoop::answer(const std::string& question) {
  dialogue_.ask(question);
  const auto answer = model_.answer(
      dialogue_, {.on_text = [](std::string_view piece) { std::cout << piece << std::flush; },
                  .is_stopped = [this] { return ctrl_c_.take() || !std::cout; }});
  std::cout << '\n';
  if (!answer) {
    dialogue_.take_back();
    return complain(answer.error() + "; the question is not kept");
  }
  last_ = answer->statistics;
  all_ += last_;
  if (answer->text.empty() && answer->finish == FinishReason::cancelled) {
    dialogue_.take_back();
  } else {
    dialogue_.answer(answer->text);
  }
  if (answer->finish == FinishReason::cancelled) remark("(stopped)\n");
  if (answer->finish == FinishReason::length) {
    remark("(cut after " + std::to_string(last_.answer_tokens) + " tokens)\n");
  }
  remark("\n");
}

}  // namespace forge::apps
