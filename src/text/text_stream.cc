#include "forge/text/text_stream.h"

#include <algorithm>
#include <utility>

namespace forge::text {
namespace {

std::vector<std::string> valid(std::vector<std::string> stops) {
  for (std::string& stop : stops) stop = to_valid_utf8(stop);
  return stops;
}

}  // namespace

std::vector<SpeltToken> spelt_tokens(const Tokenizer& tokenizer,
                                     std::span<const std::string_view> texts) {
  std::vector<SpeltToken> spelt;
  for (const std::string_view text : texts) {
    const auto tokens = tokenizer.encode(text, {.add_special = false});
    if (!tokens || tokens->size() != 1 || !tokenizer.is_control(tokens->front())) continue;
    spelt.push_back({tokens->front(), std::string(text)});
  }
  return spelt;
}

TextStream::TextStream(const Tokenizer& tokenizer, const std::vector<std::string>& stops,
                       std::vector<SpeltToken> spelt)
    : tokenizer_(&tokenizer), spelt_(std::move(spelt)), filter_(valid(stops)) {}

std::string_view TextStream::bytes_of(TokenId token) const {
  const auto found = std::ranges::find(spelt_, token, &SpeltToken::token);
  return found == spelt_.end() ? tokenizer_->bytes_of(token) : std::string_view(found->text);
}

std::string TextStream::push(TokenId token) {
  std::string text;
  std::string characters;
  for (const char byte : bytes_of(token)) {
    characters_.push(static_cast<unsigned char>(byte), characters);
  }
  filter_.push(characters, text);
  return text;
}

std::string TextStream::finish() {
  std::string characters;
  std::string text;
  characters_.finish(characters);
  filter_.push(characters, text);
  filter_.finish(text);
  return text;
}

}  // namespace forge::text
