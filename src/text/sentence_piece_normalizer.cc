#include "sentence_piece_normalizer.h"

#include <algorithm>

#include "forge/text/utf8_stream.h"
#include "normalizer.h"
#include "utf8_text.h"

namespace forge::text::detail {

SentencePieceNormalizer::Prefix SentencePieceNormalizer::next(std::string_view text) const {
  if (const std::size_t bytes = symbols.longest(text)) return {text.substr(0, bytes), bytes};
  if (map) {
    const CharsMap::Replacement found = map->find(text);
    if (found.bytes > 0) return {found.text, found.bytes};
  }
  const std::size_t bytes = std::min(character_bytes(text[0]), text.size());
  return {text.substr(0, bytes), bytes};
}

std::string SentencePieceNormalizer::apply(std::string_view text) const {
  const std::string_view space = marks_spaces ? kSpaceMark : std::string_view(" ");
  if (drops_extra_spaces) {
    while (!text.empty()) {
      const Prefix prefix = next(text);
      if (prefix.text != " ") break;
      text.remove_prefix(prefix.bytes);
    }
  }
  std::string out;
  if (text.empty()) return out;
  out.reserve(text.size() + text.size() / 4);
  if (adds_space && !space_is_suffix) out += space;
  bool after_space = drops_extra_spaces;
  while (!text.empty()) {
    auto [becomes, bytes] = next(text);
    text.remove_prefix(bytes);
    while (after_space && becomes.starts_with(' ')) becomes.remove_prefix(1);
    if (becomes.empty()) continue;
    for (const char c : becomes) {
      if (c == ' ') {
        out += space;
      } else {
        out += c;
      }
    }
    after_space = drops_extra_spaces && becomes.ends_with(' ');
  }
  while (drops_extra_spaces && out.ends_with(space)) out.resize(out.size() - space.size());
  if (adds_space && space_is_suffix) out += space;
  // A table may cut characters.
  return is_valid_utf8(out) ? out : to_valid_utf8(out);
}

}  // namespace forge::text::detail
