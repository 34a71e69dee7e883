#include "forge/text/text_stream.h"

#include "forge/text/byte_tokeniser.h"

namespace forge {
namespace {

std::vector<std::string> valid(std::vector<std::string> stops) {
  for (std::string& stop : stops) stop = to_valid_utf8(stop);
  return stops;
}

}  // namespace

TextStream::TextStream(const std::vector<std::string>& stops) : filter_(valid(stops)) {}

std::string TextStream::push(TokenId token) {
  std::string text;
  const auto byte = ByteTokeniser::byte_of(token);
  if (!byte) return text;
  std::string characters;
  characters_.push(*byte, characters);
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

}  // namespace forge
