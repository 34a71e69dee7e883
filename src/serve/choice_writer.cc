#include "choice_writer.h"

#include <algorithm>
#include <utility>

#include "forge/text/utf8_stream.h"

namespace forge::serve {

ChoiceWriter::ChoiceWriter(const CompletionRequest& request, std::size_t index,
                           const text::Tokenizer& tokenizer)
    : request_(request), prompt_(index / request.n), tokenizer_(tokenizer) {}

ChoiceWriter::Addition ChoiceWriter::add(const engine::TokenEvent& event) {
  Addition addition;
  if (!std::exchange(begun_, true) && request_.echo) {
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
  ToldText told{.text = text_of(token), .offset = characters_};
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
    text.likely.emplace_back(text_of(each.token), each.logprob);
    is_there = is_there || each.token == token.token;
  }
  if (!is_there && *request_.sampling.logprobs > 0) {
    text.likely.emplace_back(text.text, token.logprob);
  }
  return text;
}

/// As OpenAI writes tokens: what is no text by itself, byte by byte.
std::string ChoiceWriter::text_of(TokenId token) const {
  const std::string_view bytes = tokenizer_.bytes_of(token);
  text::Utf8Stream utf8;
  std::string text;
  for (const char byte : bytes) utf8.push(static_cast<unsigned char>(byte), text);
  utf8.finish(text);
  if (text == bytes) return text;
  constexpr const char* kDigits = "0123456789abcdef";
  std::string hexadecimal = "bytes:";
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    hexadecimal += {'\\', 'x', kDigits[value >> 4U], kDigits[value & 15U]};
  }
  return hexadecimal;
}

}  // namespace forge::serve
