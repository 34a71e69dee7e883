// ChoiceWriter: what the events of one choice add to its text, its reasoning, its calls of tools,
// and to what is told of its tokens.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "forge/chat/answer_parser.h"
#include "forge/engine/engine_loop.h"
#include "forge/serve/openai_api.h"

namespace forge::serve {

class ChoiceWriter {
 public:
  /// The choice `index` of `request`. Borrows both.
  ChoiceWriter(const CompletionRequest& request, std::size_t index,
               const text::Tokenizer& tokenizer);

  struct Part {
    std::string text = {};
    std::string reasoning = {};
    std::optional<ToolCall> call = std::nullopt;  ///< its id is empty where it has begun before
    std::size_t call_index = 0;
  };
  struct Addition {
    bool first = false;  ///< of the choice
    std::vector<Part> parts = {};
    std::vector<ToldText> told = {};
  };
  /// What an event adds: before the first one's text goes that of the prompt, if it is echoed.
  Addition add(const engine::TokenEvent& event);

  /// Are there calls, and all of them whole?
  bool calls_tools() const { return calls_ > 0 && !answer_->in_arguments(); }

 private:
  void take_apart(const engine::TokenEvent& event, std::vector<Part>& parts);
  std::string new_call_id() const;
  ToldText told(TokenId token);
  ToldText told(const engine::ToldToken& token, bool of_output);

  const CompletionRequest& request_;
  std::size_t prompt_;
  const text::Tokenizer& tokenizer_;
  std::optional<chat::AnswerParser> answer_;
  std::size_t calls_ = 0;
  bool begun_ = false;
  std::size_t characters_ = 0;  // that began in the tokens told
};

}  // namespace forge::serve
