// SentencePieceNormalizer: how SentencePiece rewrites a text before it is cut (NormalizerSpec of
// sentencepiece_model.proto).
//
//   "  A  B " --charsmap--> --extra spaces--> "A B" --dummy prefix--> " A B" --> "▁A▁B"
//
// Characters are replaced by a table; spaces at both ends go, and of several in a row one stays; a
// space is put before the text, or after it; a space is written as U+2581. Symbols that the
// vocabulary defines itself are found first and stay as they are.
//
// Source: https://github.com/google/sentencepiece, src/normalizer.cc. O(n) for n bytes, but for the
// symbols and replacements that are as long as a file has them. Thread contract: const, any number
// of threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "added_tokens.h"
#include "chars_map.h"

namespace forge::text::detail {

struct SentencePieceNormalizer {
  std::optional<CharsMap> map;
  AddedTokens symbols;
  bool drops_extra_spaces = true;
  bool adds_space = true;
  bool space_is_suffix = false;  ///< it is put after the text, not before it
  bool marks_spaces = true;      ///< U+2581 for a space

  /// Requires: valid UTF-8.
  std::string apply(std::string_view text) const;

 private:
  struct Prefix {
    std::string_view text;  ///< what it becomes
    std::size_t bytes;      ///< that it has
  };
  Prefix next(std::string_view text) const;
};

}  // namespace forge::text::detail
