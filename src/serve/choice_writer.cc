#include "choice_writer.h"

#include <algorithm>
#include <utility>

#include "random_id.h"

namespace forge::serve {

ChoiceWriter::ChoiceWriter(const CompletionRequest& request, std::size_t index,
                           const text::Tokenizer& tokenizer)
    : request_(request), prompt_(index / request.best_of), tokenizer_(tokenizer) {
  if (request.answer) answer_.emplace(*request.answer);
}

ChoiceWriter::Addition ChoiceWriter::add(const engine::TokenEvent& event) {
  Addition addition{.first = !std::exchange(begun_, true)};
  std::string text;
  if (addition.first && request_.echo) {
    text = request_.echoes[prompt_];
    if (request_.sampling.prompt_logprobs) {
      addition.told.push_back(told(request_.prompts[prompt_].front()));
    }
  }
  for (const engine::ToldToken& token : event.told_of_prompt) {
    addition.told.push_back(told(token, false));
  }
  if (request_.max_tokens > 0) text += event.text;
  if (request_.max_tokens > 0 && event.told) addition.told.push_back(told(*event.told, true));
  if (answer_) {
    take_apart(event, addition.parts);
  } else if (!text.empty()) {
    addition.parts.push_back({.text = std::move(text)});
  }
  return addition;
}

void ChoiceWriter::take_apart(const engine::TokenEvent& event, std::vector<Part>& parts) {
  using Kind = chat::AnswerEvent::Kind;
  std::vector<chat::AnswerEvent> events = answer_->push(event.text);
  if (event.finish != FinishReason::none) {
    for (chat::AnswerEvent& last : answer_->finish()) events.push_back(std::move(last));
  }
  for (chat::AnswerEvent& part : events) {
    switch (part.kind) {
      case Kind::content:
        parts.push_back({.text = std::move(part.text)});
        break;
      case Kind::reasoning:
        parts.push_back({.reasoning = std::move(part.text)});
        break;
      case Kind::call:
        parts.push_back(
            {.call = ToolCall{new_call_id(), std::move(part.tool), ""}, .call_index = calls_++});
        break;
      case Kind::arguments:
        parts.push_back({.call = ToolCall{"", "", std::move(part.text)}, .call_index = calls_ - 1});
        break;
      case Kind::mark:
        break;
    }
  }
}

/// The templates of Mistral take ids of nine letters and digits alone.
std::string ChoiceWriter::new_call_id() const {
  const std::string id = random_id();
  const bool is_short = request_.answer->form.calls == chat::CallForm::mistral;
  return is_short ? id.substr(0, 9) : "call_" + id;
}

ToldText ChoiceWriter::told(TokenId token) {
  ToldText told{
      .bytes = std::string(tokenizer_.bytes_of(token)), .offset = characters_, .token = token};
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
