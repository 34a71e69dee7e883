#include "choice_writer.h"

#include <algorithm>
#include <utility>

namespace forge::serve {

ChoiceWriter::ChoiceWriter(const CompletionRequest& request, std::size_t index,
                           const text::Tokenizer& tokenizer)
    : request_(request), prompt_(index / request.n), tokenizer_(tokenizer) {}

ChoiceWriter::Addition ChoiceWriter::add(const engine::TokenEvent& event) {
  Addition addition{.first = !std::exchange(begun_, true)};
  if (addition.first && request_.echo) {
    addition.text = request_.echoes[prompt_];
    if (request_.sampling.prompt_logprobs) {
      addition.told.push_back(told(request_.prompts[prompt_].front()));
    }
  }
  for (const engine::ToldToken& token : event.told_of_prompt) {
    addition.told.push_back(told(token, false));
  }
  if (request_.max_tokens == 0) return addition;
  addition.text += event.text;
  if (event.told) addition.told.push_back(told(*event.told, true));
  return addition;
}

ToldText ChoiceWriter::told(TokenId token) {
  ToldText told{.bytes = std::string(tokenizer_.bytes_of(token)), .offset = characters_};
  const auto begins = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; };
  characters_ +=
      static_cast<std::size_t>(std::ranges::count_if(tokenizer_.bytes_of(token), begins));
  return told;
}

ToldText ChoiceWriter::told(const engine::ToldToken& token, bool of_output) {
  ToldText text = told(token.token);
  if (of_output && request_.sampling.margins) text.flip_risk = token.margin;
  if (!request_.sampling.logprobs) return text;
  text.logprob = token.logprob;
  bool is_there = false;
  for (const TokenLogprob& each : token.likely) {
    text.likely.emplace_back(tokenizer_.bytes_of(each.token), each.logprob);
    is_there = is_there || each.token == token.token;
  }
  // OpenAI's completions have one more then, its chat does not.
  if (!is_there && *request_.sampling.logprobs > 0 && request_.kind != RequestKind::chat) {
    text.likely.emplace_back(text.bytes, token.logprob);
  }
  return text;
}

}  // namespace forge::serve
