// PreTokenizer: cuts a text into the pieces within which byte-pair encoding merges.
//
//   " 12 apples"  --\p{N}-->  " " "1" "2" " apples"
//
// A checkpoint has a list of steps, each of which cuts the pieces of the one before. Together the
// pieces are the text, but for a step that keeps matches alone.
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
    matches_alone,  ///< each match is a piece; what is between matches is dropped
  };

  void add(Pattern pattern, Cut cut) { steps_.push_back({std::move(pattern), cut}); }

  /// Whether a step drops what its pattern does not match, which may be all.
  bool drops_text() const {
    return std::ranges::any_of(steps_,
                               [](const Step& step) { return step.cut == Cut::matches_alone; });
  }

  /// The pieces of `text`, none empty, which borrow from it. Requires: valid UTF-8.
  std::vector<std::string_view> pieces(std::string_view text) const;

 private:
  struct Step {
    Pattern pattern;
    Cut cut;
  };
  std::vector<Step> steps_;
};

/// The pattern by which GPT-2 cuts, and tokenizers that say "ByteLevel" with "use_regex".
/// Source: https://github.com/openai/gpt-2, encoder.py.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace forge::text::detail
