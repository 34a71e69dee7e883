// forge-chat: a conversation with a model in the terminal, or one answer for a pipe.
//
//   forge-chat [MODEL]                   talks (chat_loop.h)
//   forge-chat [MODEL] --prompt TEXT     prints one answer; the standard input is not read
//   ... | forge-chat [MODEL]             prints the answer to all that comes
//
// One answer is the text of the model and a line end, nothing else; what there is to say about it
// goes to the standard error. Ctrl-C ends the program there, as that of any filter.
//
// Exit status: 0 done; 1 if the model cannot be opened, there is no answer, or it cannot be
// printed; 2 for bad flags and an empty prompt.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <new>
#include <optional>

#include "chat_loop.h"
#include "chat_options.h"
#include "program_output.h"
#include "target_flags.h"

namespace forge::apps {
namespace {

constexpr int kFailed = 1;
constexpr int kUnusableFlags = 2;

int fail(const std::string& message, int status = kFailed) {
  std::cerr << "forge-chat: " + message + '\n';
  return status;
}

/// The question, where there is to be one answer alone.
std::optional<std::string> only_question(const ChatOptions& options) {
  if (options.prompt) return options.prompt;
  if (isatty(STDIN_FILENO) != 0) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
}

int answer_once(ChatModel& model, Dialogue dialogue, const std::string& question) {
  dialogue.ask(question);
  const auto print = [](std::string_view piece) { std::cout << piece << std::flush; };
  const auto answer =
      model.answer(dialogue, {.on_text = print, .is_stopped = [] { return !std::cout; }});
  if (!answer) return fail(answer.error());
  std::cout << '\n';
  return flush_results("forge-chat") ? 0 : kFailed;
}

int chat(ChatOptions options) {
  const std::optional<std::string> question = only_question(options);
  if (question && question->find_first_not_of(" \t\r\n") == std::string::npos) {
    return fail("the prompt is empty, accepted: a text (--prompt, or the standard input)",
                kUnusableFlags);
  }
  auto model = ChatModel::open(std::move(options.target), std::move(options.answers));
  if (!model) return fail(model.error());
  if (model->lacks_template()) {
    std::cerr << "forge-chat: '" + model->name() +
                     "' has no chat template: its messages are spelt as ChatML, which it may never "
                     "have seen (--chat-template)\n";
  }
  Dialogue dialogue;
  dialogue.set_system(options.system);
  if (question) return answer_once(*model, std::move(dialogue), *question);
  ChatLoop(*model, std::move(dialogue)).run();
  return 0;
}

}  // namespace
}  // namespace forge::apps

int main(int argc, char** argv) {
  CLI::App app("Talks with a model in the terminal, or answers one prompt.", "forge-chat");
  forge::apps::ChatOptions options;
  forge::apps::add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : forge::apps::kUnusableFlags;
  }
  const std::string misplaced = forge::apps::misplaced_flag(app, options.target.kind);
  if (!misplaced.empty()) return forge::apps::fail(misplaced, forge::apps::kUnusableFlags);
  try {
    return forge::apps::chat(std::move(options));
  } catch (const std::bad_alloc&) {
    return forge::apps::fail(
        "the memory that this process may use is not enough (--kv-memory, ulimit -v)");
  }
}
