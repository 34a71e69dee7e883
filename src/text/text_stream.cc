#include "forge/text/text_stream.h"

namespace forge::text {
namespace {

std::vector<std::string> valid(std::vector<std::string> stops) {
  for (std::string& stop : stops) stop = to_valid_utf8(stop);
  return stops;
}

}  // namespace

TextStream::TextStream(const Tokenizer& tokenizer, const std::vector<std::string>& stops)
    : tokenizer_(&tokenizer), filter_(valid(stops)) {}

std::string TextStream::push(TokenId token) {
  std::string text;
  std::string characters;
  for (const char byte : tokenizer_->bytes_of(token)) {
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
