// PreTokenizer: cuts a text into the pieces of which tokens are made one by one.
//
//   " 12 apples"  --\p{N}-->  " " "1" "2" " apples"
//
// A checkpoint has a list of steps, each of which cuts the pieces of the one before. Together the
// pieces are the text, but for a step that drops matches or what is between them.
//
// A step may see a piece as byte-level vocabularies spell it (alphabet.h), each byte a character:
// what tokenizer.json says after "ByteLevel" does. Such a step may cut within a character.
//
// Owns its patterns. Thread contract: const, any number of threads.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "pattern.h"

namespace forge::text::detail {

class PreTokenizer {
 public:
  enum class Cut {
    isolated,       ///< each match is a piece, and what is between matches
    before,         ///< a piece begins with each match
    after,          ///< a piece ends with each match
    contiguous,     ///< matches side by side are a piece, and what is between them
    threes,         ///< of a match every three characters, counted from its end, are a piece
    removed,        ///< matches are dropped
    matches_alone,  ///< each match is a piece; what is between matches is dropped
  };
  enum class Sees { text, spelt_bytes };

  void add(Pattern pattern, Cut cut, Sees sees = Sees::text) {
    steps_.push_back({std::move(pattern), cut, sees});
  }

  /// Whether a step drops text, which may be all.
  bool drops_text() const {
    return std::ranges::any_of(steps_, [](const Step& step) {
      return step.cut == Cut::matches_alone || step.cut == Cut::removed;
    });
  }

  /// The pieces of `text`, none empty, which borrow from it. Requires: valid UTF-8.
  std::vector<std::string_view> pieces(std::string_view text) const;

 private:
  struct Step {
    Pattern pattern;
    Cut cut;
    Sees sees;
  };
  std::vector<Step> steps_;
};

/// The pattern by which GPT-2 cuts, and tokenizers that say "ByteLevel" with "use_regex".
/// Source: https://github.com/openai/gpt-2, encoder.py.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace forge::text::detail
