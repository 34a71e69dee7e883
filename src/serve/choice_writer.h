// ChoiceWriter: what the events of one choice add to its text, and to what is told of its tokens.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "forge/engine/engine_loop.h"
#include "forge/serve/openai_api.h"

namespace forge::serve {

class ChoiceWriter {
 public:
  /// The choice `index` of `request`. Borrows both.
  ChoiceWriter(const CompletionRequest& request, std::size_t index,
               const text::Tokenizer& tokenizer);

  struct Addition {
    bool first = false;  ///< of the choice
    std::string text = {};
    std::vector<ToldText> told = {};
  };
  /// What an event adds: before the first one's text goes that of the prompt, if it is echoed.
  Addition add(const engine::TokenEvent& event);

 private:
  ToldText told(TokenId token);
  ToldText told(const engine::ToldToken& token, bool of_output);

  const CompletionRequest& request_;
  std::size_t prompt_;
  const text::Tokenizer& tokenizer_;
  bool begun_ = false;
  std::size_t characters_ = 0;  // that began in the tokens told
};

}  // namespace forge::serve
